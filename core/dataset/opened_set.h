// A data set that Python or a program in C has open, with all that it needs: caches, threads, and what is known of its
// files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/dataset/data_set.h"
#include "core/dataset/picked_records.h"
#include "core/dataset/record_stream.h"
#include "core/decoding/record_decoder.h"
#include "core/search/record_condition.h"
#include "core/store/executor.h"

namespace recordfs {

inline constexpr unsigned kMostThreads = 1024;

struct OpenOptions {
  std::string index = "auto";  // as for the mount
  std::uint64_t cache_bytes = 64u << 20;
  unsigned threads = 0;           // that decode, at most kMostThreads; 0: one per core
  std::uint64_t max_chunk = 0;    // bytes; 0: the default limits
  bool skips_unreadable = false;  // bytes that cannot be read are damage on network filesystems too
  UserTypes types{};
};

// What it takes to open a data set again, elsewhere or in a forked child.
struct SetPlan {
  ShardList list;
  OpenOptions options;
  Limits limits;
  // The version of each shard when it was opened first (SourceId). Another machine may see it as another source.
  std::map<std::size_t, std::string> versions{};  // by shard; guarded by fork_safe_mutex()

  SetPlan(ShardList shards, OpenOptions wanted);
};

// A region that an iteration went on without.
struct SkippedRegion {
  Position end = 0;
  std::optional<std::uint64_t> first_ordinal{};  // in the shard, of the first record after it; nullopt: unknown
  std::optional<std::uint64_t> records_lost{};
  Code code = Code::kDamage;
  std::string reason{};
  std::optional<std::uint64_t> first_skipped{};  // ordinal in the data set of a record that cannot be decoded
  std::uint64_t last_skipped = 0;
};

// The first kMost of them. Thread-safe.
class SkippedRegions {
 public:
  using Regions = std::map<Position, SkippedRegion>;  // by begin

  void add(std::size_t shard, Position begin, SkippedRegion region) {
    const std::lock_guard lock(mutex_);
    if (count_ < kMost && regions_[shard].emplace(begin, std::move(region)).second) ++count_;
  }
  void add(std::size_t shard, const StreamProblem& problem) {
    add(shard, problem.error.position,
        {.end = std::max(problem.end, problem.error.position),
         .first_ordinal = problem.first_ordinal,
         .records_lost = problem.records_lost,
         .code = problem.error.code,
         .reason = problem.error.detail});
  }
  // Adds a record of the chunk at `begin` that cannot be decoded; `ordinal` is that in the data set. Records of a chunk
  // that come in order are counted once.
  void add_record(std::size_t shard, Position begin, std::uint64_t ordinal, const Error& why) {
    const std::lock_guard lock(mutex_);
    Regions& regions = regions_[shard];
    const auto known = regions.find(begin);
    if (known == regions.end() && count_ == kMost) return;
    SkippedRegion& region = regions[begin];
    if (known == regions.end()) {
      ++count_;
      region = {.end = begin, .records_lost = 0, .code = why.code, .reason = why.detail, .first_skipped = ordinal};
    } else if (ordinal <= region.last_skipped) {
      return;
    }
    region.last_skipped = ordinal;
    if (region.records_lost) ++*region.records_lost;
  }
  Regions of(std::size_t shard) const {
    const std::lock_guard lock(mutex_);
    const auto found = regions_.find(shard);
    return found == regions_.end() ? Regions() : found->second;
  }

 private:
  static constexpr std::size_t kMost = 65536;

  mutable std::mutex mutex_;  // guards the following
  std::map<std::size_t, Regions> regions_;
  std::size_t count_ = 0;
};

// Thread-safe. Has threads, so a forked child must not destroy it.
class OpenedSet {
 public:
  // Reads nothing. Fails if the directory for indexes is impossible.
  static Result<std::unique_ptr<OpenedSet>> open(std::shared_ptr<SetPlan> plan);
  // Returns one shard of this as a data set, which shares the caches.
  std::unique_ptr<OpenedSet> shard(std::size_t shard) const;

  SetPlan& plan() const { return *plan_; }
  DataSet& set() const { return *set_; }
  Executor& executor() const { return *executor_; }
  SkippedRegions& skipped() const { return skipped_; }
  unsigned threads() const { return threads_; }
  bool has_one_shard() const { return plan_->list.shards.size() == 1; }

  // A shard that records are decoded of.
  struct Decoding {
    Decoding(std::shared_ptr<const RecordStore> opened, const UserTypes& types)
        : store(std::move(opened)), decoder(store->schema(), store->metadata(), types) {}
    const std::shared_ptr<const RecordStore> store;
    const RecordDecoder decoder;
  };
  // Fails as check_metadata(), unless the user's types and descriptors say all about the records.
  Result<std::shared_ptr<const Decoding>> decoding(std::size_t shard,
                                                   const std::shared_ptr<const RecordStore>& store) const;
  // Opens a shard whose records are decoded. Fails as DataSet::open() and as decoding().
  Result<std::shared_ptr<const RecordStore>> open_to_decode(const RequestContext& context, std::size_t shard) const;

 private:
  Result<void> check_types_of(const RequestContext& context, const RecordStore& store) const;
  OpenedSet(std::shared_ptr<SetPlan> plan, std::shared_ptr<StoreResources> services);

  static constexpr std::size_t kRecentShards = 16;

  const std::shared_ptr<SetPlan> plan_;
  const std::shared_ptr<StoreResources> services_;  // declared before everything that uses it
  const unsigned threads_;
  const std::unique_ptr<DataSet> set_;
  const std::unique_ptr<Executor> executor_;  // for picked records
  mutable SkippedRegions skipped_;
  mutable BoundedLru<std::size_t, std::shared_ptr<const Decoding>> decoding_{kRecentShards};
};

// A record, and what tells more about it.
struct RecordAndPlace {
  PlacedRecord place;
  Slice record;
};

// Reads a record. Fails as place_record() and RecordReader::read(). Thread-safe.
Result<RecordAndPlace> find_record(const RequestContext& context, const OpenedSet& set, std::uint64_t ordinal);

// Returns which records a condition selects. `set` must outlive the result.
SelectOfShard selector(const OpenedSet& set, std::shared_ptr<const RecordCondition> condition);

// Returns the path of the shard that an error may be about: the only one, or the one with whose path the message
// begins. Empty if there is none.
std::string path_in(const OpenedSet& set, const Error& error);
// Returns the path for an error about a record.
std::string path_of_record(const OpenedSet& set, std::uint64_t ordinal, const Error& error);

}  // namespace recordfs
