// ContainerTree: the tree of one container: its names, listings, sizes and contents.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/decoding/record_decoder.h"
#include "core/store/record_store.h"
#include "fusefs/tree/node_types.h"

namespace recordfs {

class View;
struct CachedFiles;

// A snapshot of a container as a tree of nodes. A Node is valid for the lifetime of the tree. Nodes whose
// NodeType::is_permanent is set mean the same in every later snapshot of the file. Thread-safe.
class ContainerTree {
 public:
  // `cache` must outlive the tree. `number` is unique among the containers that share `cache`, and the same for all
  // snapshots of a followed file.
  ContainerTree(std::shared_ptr<const RecordStore> store, CachedFiles& cache, std::uint64_t number);
  ~ContainerTree();
  ContainerTree(const ContainerTree&) = delete;
  ContainerTree& operator=(const ContainerTree&) = delete;

  // Returns the view that serves a node (node_types.h); null if the container has no such node.
  const View* view(Node node) const {
    const NodeType* type = node_type(node);
    return type == nullptr ? nullptr : views_[static_cast<std::size_t>(type->view)].get();
  }
  // Returns an upper bound on the values of its nodes, for InodeTable::wanted().
  std::uint64_t values() const;
  // Returns the nodes whose attributes, entries or contents may differ from those in `shorter`, an earlier snapshot of
  // the same file. These are the last chunk and everything that sums up the container. May read the file.
  std::vector<Node> changed_since(const RequestContext& context, const ContainerTree& shorter) const;

  const RecordStore& store() const { return *store_; }
  const RecordDecoder& decoder() const { return decoder_; }
  CachedFiles& cache() const { return cache_; }
  // Returns the cache key of what is the same in all snapshots of a followed file.
  std::uint64_t number() const { return number_; }
  // Returns the cache key of what differs between snapshots.
  std::uint64_t snapshot() const { return snapshot_; }

 private:
  static inline std::atomic<std::uint64_t> next_snapshot_{0};

  const std::shared_ptr<const RecordStore> store_;
  CachedFiles& cache_;
  const std::uint64_t number_;
  const std::uint64_t snapshot_ = next_snapshot_.fetch_add(1);
  const RecordDecoder decoder_;
  std::vector<std::unique_ptr<const View>> views_;  // by ViewId; null: the container has no such view
};

}  // namespace recordfs
