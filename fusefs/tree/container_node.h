// ContainerNode: a container in the mount, with its tree and its numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/inode_table.h"

namespace recordfs {

// Immutable.
struct ContainerNode {
  std::uint64_t id = 0;  // unique among the containers of the mount
  Ownership ownership;
  std::unique_ptr<const ContainerTree> tree;
  std::uint64_t begin = 0;        // of its range of numbers
  std::uint64_t inode_begin = 0;  // of its range of inode numbers
  // Of its own directory, which in a mirrored directory is outside the range.
  std::uint64_t root_number = number_in(0, Node{});
  std::uint64_t root_inode = number_in(0, Node{});
  bool is_mirrored = false;
  bool is_followed = false;   // a later snapshot may replace it
  timespec first_modified{};  // time of the first snapshot, if followed

  // REQUIRES: !is_counted(node.kind).
  std::uint64_t number(Node node) const { return node == Node{} ? root_number : number_in(begin, node); }
  // For nodes of any kind.
  std::uint64_t inode(Node node) const { return node == Node{} ? root_inode : inode_in(inode_begin, node); }

  // Returns whether a node is the same in all later snapshots.
  bool is_permanent(Node node, FileType type) const;
  // Returns the complete status of a node. Records keep the first snapshot's time.
  FileStatus status(std::uint64_t number, Node node, NodeAttributes attributes) const;
};

}  // namespace recordfs
