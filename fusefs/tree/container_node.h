// ContainerNode: a container in the mount, with its tree and its numbers. MountedContainers: those among the sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/store/wait_ticket.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/view.h"

namespace recordfs {

// Immutable.
struct ContainerNode {
  std::uint64_t id = InodeTable::kOwnNodes;  // unique among the containers of the mount
  Ownership ownership;
  std::shared_ptr<const NodeTree> nodes;
  const ContainerTree* tree = nullptr;  // `nodes`; null for those that are in no container (InodeTable::kOwnNodes)
  std::uint64_t begin = 0;              // of its range of numbers
  std::uint64_t inode_begin = 0;        // of its range of inode numbers
  // Of its own directory, which in a mirrored directory is outside the range.
  std::uint64_t root_number = number_in(0, Node{});
  std::uint64_t root_inode = number_in(0, Node{});
  std::uint64_t parent_inode = kMountRoot;  // inode number of the directory above
  bool is_mirrored = false;
  bool is_followed = false;   // a later snapshot may replace it
  bool is_live = false;       // shows what its source has now: a database
  timespec first_modified{};  // time of the first snapshot, if followed

  void set_tree(std::shared_ptr<const ContainerTree> shown) {
    tree = shown.get();
    nodes = std::move(shown);
  }
  // REQUIRES: !is_counted(node.kind).
  std::uint64_t number(Node node) const { return node == Node{} ? root_number : number_in(begin, node); }
  // For nodes of any kind.
  std::uint64_t inode(Node node) const { return node == Node{} ? root_inode : inode_in(inode_begin, node); }
  // Returns the complete status of a node. Records keep the first snapshot's time.
  FileStatus status(std::uint64_t number, Node node, NodeAttributes attributes) const;
};

// Returns `result`. If it is kPending, makes Error::wait keep the container open. What is no container lasts as long as
// the mount.
template <class Value>
Result<Value> kept_open(const std::shared_ptr<const ContainerNode>& container, Result<Value> result) {
  if (!result && result.error().wait != nullptr && container->tree != nullptr) result.error().wait->owner = container;
  return result;
}

// A source of a mount.
struct MountedContainer {
  std::string name;  // of its directory, if nested
  std::shared_ptr<const RecordStore> store;
  Ownership ownership;
  bool is_followed = false;  // MountedContainers::grow() may be called for it
};

// The containers among the sources, by index. Each is the current one of a series of snapshots. Thread-safe, except for
// add(), grow() and drop_unused().
class MountedContainers {
 public:
  // Both must outlive this.
  MountedContainers(TreeContext& cache, InodeTable& inodes) : cache_(cache), inodes_(inodes) {}

  // Adds the next container. `directory`: its name in the mount's root; null: it is the root itself. Returns the number
  // of its directory.
  std::uint64_t add(const MountedContainer& container, const std::string* directory);

  std::size_t size() const { return current_.size(); }
  // Returns the current snapshot. The pointer keeps it open; if the container is not followed, it owns nothing, as the
  // container lives as long as this.
  std::shared_ptr<const ContainerNode> at(std::size_t container) const;
  // Returns the stores of all current snapshots. Each pointer keeps its snapshot open.
  std::vector<std::shared_ptr<const RecordStore>> stores() const;
  // Returns whether any container is followed.
  bool may_grow() const;

  // Caches what listings of the containers' roots need, if the container is on a filesystem that may hang. These
  // listings then do not block. May block itself.
  void prepare(const RequestContext& context) const;

  // Replaces the snapshot of a followed container by a longer one. `modified` is the file's modification time. Returns
  // the numbers of the nodes that may have changed, for the kernel to be notified. Requests in progress finish on the
  // previous snapshot, and drop_unused() frees it afterwards. Both functions may block. Only one thread may call them,
  // and no request may wait for that thread.
  std::vector<std::uint64_t> grow(const RequestContext& context, std::size_t container,
                                  const std::shared_ptr<const RecordStore>& store, timespec modified);
  void drop_unused();

 private:
  using Pointer = std::shared_ptr<const ContainerNode>;

  static void prepare(const RequestContext& context, const ContainerTree& tree);

  TreeContext& cache_;
  InodeTable& inodes_;
  std::vector<bool> is_followed_;  // by container
  mutable std::mutex mutex_;       // guards the followed ones of the following
  std::vector<Pointer> current_;
  std::vector<Pointer> replaced_;  // snapshots that requests may still use
};

}  // namespace recordfs
