// A container of the mount: its tree, and the numbers that its nodes have.
#pragma once

#include <cstdint>
#include <memory>

#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/node.h"

namespace recordfs {

// Immutable.
struct ContainerNode {
  std::uint64_t id = 0;  // among all containers of the mount
  Ownership ownership;
  std::unique_ptr<const ContainerTree> tree;
  std::uint64_t begin = 0;        // of its range of numbers
  std::uint64_t inode_begin = 0;  // of the range that stat() shows
  // Of its own directory, where that is no node of the range.
  std::uint64_t root_number = number_in(0, Node{});
  std::uint64_t root_inode = number_in(0, Node{});
  bool is_mirrored = false;
  bool is_followed = false;   // a later snapshot may take its place
  timespec first_modified{};  // where it is followed: of the first snapshot

  // REQUIRES: not of kPart or kKey.
  std::uint64_t number(Node node) const { return node == Node{} ? root_number : number_in(begin, node); }
  // What stat() shows.
  std::uint64_t inode(Node node) const { return node == Node{} ? root_inode : inode_in(inode_begin, node); }

  // What a later snapshot leaves as it is.
  bool is_permanent(Node node, FileType type) const;
  // Everything that is told of a node. Records have the first snapshot's time, as they are the same in all of them.
  FileStatus status(std::uint64_t number, Node node, NodeAttributes attributes) const;
};

}  // namespace recordfs
