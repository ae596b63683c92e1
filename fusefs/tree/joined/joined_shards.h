// JoinedShards: the shards of a data set that is mounted as one: their names, numbers, owners, and containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/dataset/data_set.h"
#include "fusefs/tree/container_node.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/mirror/mirror.h"

namespace recordfs {

// A data set as the source of a mount.
struct JoinedSource {
  // Opens the container of a shard that is not missing. Called on any thread. Fails as OpenShard.
  using Open =
      std::function<Result<std::shared_ptr<const RecordStore>>(const RequestContext& context, std::size_t shard)>;

  std::string name;                     // of its directory, if nested
  ShardList list;                       // at least one shard
  std::vector<Ownership> ownerships{};  // by shard; that of a missing one has no meaning
  std::uint64_t stored = 0;             // size of all files that are present, in bytes
  std::string_view format{};            // of the first shard that is present; empty: unknown. Static storage.
  Open open;
};

// Returns the owner and permissions of what several files contain together. They permit only what each of the files
// permits to the same reader, and without files nothing. The time is the latest.
Ownership common_ownership(std::span<const Ownership> ownerships);

// Opens shards when they are needed, and keeps the most recently used ones open, for half a minute without use.
//
// The numbers of a shard's nodes are in a range that depends only on the shard's place, so they are the same in every
// mount and need no table. The range of values that starts at 0 is the data set's own. Thread-safe. Functions block
// only as far as RequestContext permits.
class JoinedShards {
 public:
  using Pointer = std::shared_ptr<const ContainerNode>;

  // Returns how many bits the values of a shard's nodes may have. Services::address_bits is one less.
  static unsigned value_bits(std::size_t shards);

  // `cache` must outlive this. REQUIRES: source.list.shards.size() ownerships.
  JoinedShards(JoinedSource source, CachedFiles& cache);
  ~JoinedShards();
  JoinedShards(const JoinedShards&) = delete;
  JoinedShards& operator=(const JoinedShards&) = delete;

  std::size_t size() const { return set_.size(); }
  DataSet& set() { return set_; }
  // Returns the same shards, whose counts include the sizes of their records. These may cost decoding everything.
  DataSet& sizes();
  // What is known without opening a shard.
  std::uint64_t stored() const { return stored_; }
  std::string_view format() const { return format_; }
  const Ownership& ownership() const { return ownership_; }  // of the data set
  const Ownership& ownership(std::size_t shard) const { return ownerships_[shard]; }

  // Returns the name of a shard's directory, which is unique: the file name, with "~2", "~3" and so on if it is taken.
  // Valid as long as this.
  std::string_view name(std::size_t shard) const;
  // Returns the shard of this name.
  std::optional<std::size_t> find(std::string_view name) const;

  // Returns the number of a shard's directory, which is also its inode number.
  std::uint64_t number(std::size_t shard) const { return number_in(begin(shard), Node{}); }
  // Returns the shard and the node that a computed number means; nullopt if it is in no shard's range. The node need
  // not exist.
  std::optional<InodeTable::ResolvedInode> resolve(std::uint64_t number) const;
  // Returns whether a computed number is in the data set's own range.
  bool is_own(std::uint64_t number) const;

  // Returns a shard's container, and opens it if necessary. Fails with kDamage if the shard is missing, with kLimit if
  // its file is too large for a data set of so many shards, and as JoinedSource::Open does.
  Result<Pointer> container(const RequestContext& context, std::size_t shard);
  std::size_t open_containers() const { return containers_.size(); }

 private:
  static constexpr std::size_t kOpenContainers = 24;
  static constexpr std::size_t kOpenStores = 8;  // that only counting uses

  std::uint64_t begin(std::size_t shard) const { return (shard + std::uint64_t{1}) << value_bits_; }
  void name_shards();
  Result<std::shared_ptr<const RecordStore>> open(const RequestContext& context, std::size_t shard);

  const JoinedSource::Open open_;
  const std::vector<Ownership> ownerships_;
  const Ownership ownership_;
  const std::uint64_t stored_;
  const std::string_view format_;
  const unsigned value_bits_;
  CachedFiles& cache_;
  Closers closers_;
  BoundedLru<std::size_t, Pointer> containers_{kOpenContainers};
  DataSet set_;
  std::map<std::size_t, std::string> renamed_;                 // shards whose names are not their file names
  std::unordered_map<std::string_view, std::size_t> by_name_;  // keys are in set_ or renamed_
  std::mutex mutex_;                                           // guards the next
  std::unique_ptr<DataSet> sizes_;
};

}  // namespace recordfs
