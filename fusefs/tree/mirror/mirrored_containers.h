// The containers in mirrored directories: a few are open at a time, those that were looked into last.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/store/record_store.h"
#include "fusefs/tree/container_node.h"
#include "fusefs/tree/mirror/deferred_closer.h"
#include "fusefs/tree/mirror/known_nodes.h"
#include "fusefs/tree/mirror/number_ranges.h"
#include "fusefs/tree/mirror/recently_used.h"
#include "fusefs/tree/mirror/rooted_dir.h"

namespace recordfs {

// Makes a store of a file that is open for reading. `path` is for people: log lines and errors.
using OpenContainer =
    std::function<Result<std::shared_ptr<const RecordStore>>(Descriptor file, const std::string& path)>;

// Any thread.
class MirroredContainers {
 public:
  static constexpr std::size_t kMostOpen = 64;

  // `cache` has to outlive this.
  MirroredContainers(OpenContainer open, CachedFiles& cache, const InodeMap& inode_map)
      : open_(std::move(open)), cache_(cache), ranges_(inode_map) {}

  // The container of a node, opened now where it is not open; it stays so while it is held. `shown_path`: its path in
  // the mount. Fails with stale_error() where another file stands there now, or another state of it, as place_error()
  // does, with kLimit where there is no room for its numbers, and as the container's format does.
  Result<std::shared_ptr<const ContainerNode>> get(const MirroredNode& node, const RootedDir& source,
                                                   const std::string& shown_path, const Ownership& ownership);

  // Whose node a computed number is: the container's number and the node in it.
  struct MirroredInode {
    std::uint64_t container = 0;
    Node node;
  };
  std::optional<MirroredInode> find(std::uint64_t number) const;

  // The kernel knows nothing of the container any more.
  void forget(std::uint64_t container);
  // Closes what nobody has used since.
  void close_unused_since(std::chrono::steady_clock::time_point time) { recent_.drop_unused_since(time); }
  std::size_t open() const { return recent_.size(); }

  // `closers` close them from now on.
  void close_with(std::shared_ptr<DeferredClosers> closers) { closers_ = std::move(closers); }

 private:
  Result<std::shared_ptr<const RecordStore>> open_store(const MirroredNode& node, const RootedDir& source) const;

  const OpenContainer open_;
  CachedFiles& cache_;
  NumberRanges ranges_;
  std::shared_ptr<DeferredClosers> closers_;
  RecentlyUsed<const ContainerNode> recent_{kMostOpen};
};

}  // namespace recordfs
