// DataSetShards: the shards of a data set that is mounted as one: their names, numbers, owners, and containers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/dataset/data_set.h"
#include "fusefs/tree/container_node.h"
#include "fusefs/tree/data_set/shard_names.h"
#include "fusefs/tree/data_set/shard_numbers.h"
#include "fusefs/tree/file_status.h"
#include "fusefs/tree/inode_table.h"
#include "fusefs/tree/mirror/mirror.h"

namespace recordfs {

// A data set as the source of a mount.
struct DataSetSource {
  // Opens the container of a shard that is not missing. Called on any thread. Fails as OpenShard.
  using Open =
      std::function<Result<std::shared_ptr<const RecordStore>>(const RequestContext& context, std::size_t shard)>;

  std::string name;                     // of its directory, if nested
  ShardList list;                       // at least one shard
  std::vector<Ownership> ownerships{};  // by shard; that of a missing one has no meaning
  std::uint64_t stored = 0;             // size of all files that are present, in bytes
  std::string_view format{};            // of the first shard that is present; empty: unknown. Static storage.
  Open open;
  KnownCounts known{};
  // How many shards there can be once some were appended (-o follow); 0: none will be. At most kMostShards.
  std::size_t most_shards = 0;
};

// Shards that are appended to a data set.
struct AppendedShards {
  std::vector<Shard> shards;
  std::vector<Ownership> ownerships;  // by shard; that of a missing one has no meaning
  std::uint64_t stored = 0;           // size of all files, in bytes
};

// Returns the owner and permissions of what several files contain together. They permit only what each of the files
// permits to the same reader, and without files nothing. The time is the latest.
Ownership common_ownership(std::span<const Ownership> ownerships);

// Opens shards when they are needed, and keeps the most recently used ones open, for half a minute without use.
// If shards may be appended, their numbers are those of the largest number of shards. Thread-safe. Functions block only
// as far as RequestContext permits.
class DataSetShards {
 public:
  using Pointer = std::shared_ptr<const ContainerNode>;

  // `cache` must outlive this. REQUIRES: source.list.shards.size() ownerships.
  DataSetShards(DataSetSource source, TreeContext& cache);
  ~DataSetShards();
  DataSetShards(const DataSetShards&) = delete;
  DataSetShards& operator=(const DataSetShards&) = delete;

  std::size_t size() const { return set_.size(); }
  bool is_followed() const { return most_shards_ != 0; }
  std::size_t most_shards() const { return most_shards_; }
  DataSet& set() { return set_; }
  // Returns the same shards, whose counts include the sizes of their records. These may cost decoding everything.
  DataSet& sizes();
  // What is known without opening a shard.
  std::uint64_t stored() const { return stored_.load(std::memory_order_relaxed); }
  std::string_view format() const { return format_; }
  Ownership ownership() const;  // of the data set
  Ownership ownership(std::size_t shard) const;
  // Returns the first time of the data set, which the nodes keep that never change.
  const timespec& first_modified() const { return first_modified_; }

  // Appends shards, which DataSetSource::Open already opens. Calls `changed` when owner, permissions, time or contents
  // of the data set have changed: first for narrower permissions, which the kernel must know before the records; then
  // for the records, and at last for the streams if they are in use. May block, and decode everything. Only one thread
  // may call this. REQUIRES: at most most_shards() together.
  void append(const RequestContext& context, AppendedShards more, const std::function<void()>& changed);
  // Returns how often the data set has changed.
  std::uint64_t edition() const { return edition_; }

  // Returns the name of a shard's directory, which is unique (ShardNames). Valid as long as this.
  std::string_view name(std::size_t shard) const;
  // Returns the shard of this name.
  std::optional<std::size_t> find(std::string_view name) const;

  const ShardNumbers& numbers() const { return numbers_; }

  // Returns a shard's container, and opens it if necessary. Fails with kDamage if the shard is missing, with kLimit if
  // its file is too large for a data set of so many shards, and as DataSetSource::Open does.
  Result<Pointer> container(const RequestContext& context, std::size_t shard);
  std::size_t open_containers() const { return containers_.size(); }

 private:
  static constexpr std::size_t kOpenContainers = 16;
  static constexpr std::size_t kOpenStores = 8;  // that only counting uses

  Ownership common(std::span<const Shard> more) const;
  bool prepare(const AppendedShards& more);
  bool append_sizes(const RequestContext& context);
  void set_modified();
  Result<std::shared_ptr<const RecordStore>> open(const RequestContext& context, std::size_t shard);

  const DataSetSource::Open open_;
  const KnownCounts known_;
  const std::string_view format_;
  const std::size_t most_shards_;
  const ShardNumbers numbers_;
  TreeContext& cache_;
  Closers closers_;
  BoundedLru<std::size_t, Pointer> containers_{kOpenContainers};
  std::atomic<std::uint64_t> stored_;
  std::atomic<std::uint64_t> edition_{1};
  mutable std::mutex mutex_;           // guards the following that are not const, except set_
  std::vector<Ownership> ownerships_;  // may have some of shards that are not visible yet, at the end
  ShardNames names_;
  DataSet set_;
  std::unique_ptr<DataSet> sizes_;
  Ownership ownership_;
  timespec latest_{};  // of all shards
  const timespec first_modified_;
};

}  // namespace recordfs
