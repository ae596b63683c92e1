// MirroredContainers: the containers in mirrored directories. The most recently used ones stay open.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/base/bounded_lru.h"
#include "core/store/record_store.h"
#include "fusefs/tree/container_node.h"
#include "fusefs/tree/mirror/deferred_closer.h"
#include "fusefs/tree/mirror/known_nodes.h"
#include "fusefs/tree/mirror/rooted_dir.h"

namespace recordfs {

// Opens a store for a file. `path` is for log lines and errors.
using OpenContainer =
    std::function<Result<std::shared_ptr<const RecordStore>>(Descriptor file, const std::string& path)>;

// Thread-safe.
class MirroredContainers {
 public:
  static constexpr std::size_t kMostOpen = 64;

  // `cache` and `inodes` must outlive this.
  MirroredContainers(OpenContainer open, CachedFiles& cache, InodeTable& inodes)
      : open_(std::move(open)), cache_(cache), inodes_(inodes) {}

  // Returns the container of a node, and opens it if necessary. It stays open while the pointer is held, even beyond
  // kMostOpen. `shown_path` is its path in the mount. May block. Fails with stale_error() if the path has another file
  // or state now, and with kLimit if no range of numbers is free. Also fails as RootedDir::open_file() and
  // OpenContainer.
  Result<std::shared_ptr<const ContainerNode>> get(const MirroredNode& node, const RootedDir& source,
                                                   const std::string& shown_path, const Ownership& ownership);

  // Closes a container and frees its range of numbers, after the kernel dropped its last reference.
  void forget(std::uint64_t container);
  void close_unused_since(std::chrono::steady_clock::time_point time) { recent_.drop_unused_since(time); }
  std::size_t open() const { return recent_.size(); }

  // Sets the threads that close containers. REQUIRES: called before get().
  void close_with(std::shared_ptr<DeferredClosers> closers) { closers_ = std::move(closers); }

 private:
  Result<std::shared_ptr<const RecordStore>> open_store(const MirroredNode& node, const RootedDir& source) const;

  const OpenContainer open_;
  CachedFiles& cache_;
  InodeTable& inodes_;
  std::shared_ptr<DeferredClosers> closers_;
  BoundedLru<std::uint64_t, std::shared_ptr<const ContainerNode>> recent_{kMostOpen};
};

}  // namespace recordfs
