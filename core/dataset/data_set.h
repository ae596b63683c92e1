// A data set: an ordered list of containers that is read as one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/base/result.h"
#include "core/dataset/shard_list.h"
#include "core/store/background_work.h"
#include "core/store/record_store.h"

namespace recordfs {

// Opens the container of a shard that is not missing. `number` is the shard's. Called on any thread. Fails as
// open_container does, and as the file does.
using OpenShard = std::function<Result<std::shared_ptr<const RecordStore>>(const RequestContext& context,
                                                                           std::size_t number, const Shard& shard)>;

// What was counted of one shard. A shard that cannot be opened for good has no records.
struct ShardCounts {
  std::uint64_t first_ordinal = 0;  // in the set, of its first record
  std::uint64_t records = 0;
  std::uint64_t chunks = 0;
  std::uint64_t stored = 0;           // size of the file, in bytes
  std::uint64_t damaged_regions = 0;  // found by a scan of headers
  std::string_view format{};          // static storage; empty: the shard cannot be opened
  std::uint64_t bytes = 0;            // of all records together, if Bounds::detail is kSizes
};

// Returns what is known of a shard without opening it, so that it need not be opened to be counted: not first_ordinal,
// and `bytes` only with ScanDetail::kSizes. nullopt if it has to be opened. Called on any thread.
using KnownCounts = std::function<std::optional<ShardCounts>(const RequestContext& context, std::size_t number,
                                                             const Shard& shard, ScanDetail detail)>;

// A record's place by its ordinal.
struct RecordInShard {
  std::size_t shard = 0;
  std::uint64_t ordinal = 0;  // in the shard
  bool operator==(const RecordInShard&) const = default;
};

struct DataSetTotals {
  std::uint64_t records = 0;
  std::uint64_t chunks = 0;
  std::uint64_t stored = 0;  // bytes of all files
  std::uint64_t damaged_regions = 0;
  std::size_t unopened = 0;  // shards that are missing or cannot be opened
};

// The shards and their ordinals. Opens a shard when it is asked for, and counts its records when an ordinal needs that.
//
// Counting runs in the background, in the order of the shards and several at a time, and stops when nothing waits for
// it. It opens shards whose counts are not known, uses saved indexes, and saves them, as RecordStore does. What it has
// not reached is kPending, and Error::wait says what to wait for. A shard that is missing or permanently damaged counts
// no records; failure() tells why. A failure that may pass, such as an I/O error, is returned by the call that waits,
// and the next call tries again.
//
// append() adds shards at the end. What was returned about the others stays true, except totals and progress.
//
// Memory: about 60 bytes and the path for each shard, and what Bounds::open_shards stores need, about 100 KiB each for
// usual files. All functions may be called from any thread. They do not block, except open(), append() and the
// destructor, which cancels the counting and joins its threads.
class DataSet final : public BackgroundWork {
 public:
  struct Bounds {
    std::size_t open_shards = 64;  // unused ones that stay open. A store in use stays open beyond that.
    unsigned threads = 4;          // that count; at least 1
    // Counts shards that cannot be opened or scanned as empty even if the failure may pass.
    bool skips_all_failures = false;
    ScanDetail detail = ScanDetail::kCounts;
  };

  // `open` must return stores that may outlive this.
  DataSet(ShardList list, OpenShard open, Bounds bounds, KnownCounts known = {});
  DataSet(ShardList list, OpenShard open) : DataSet(std::move(list), std::move(open), Bounds()) {}
  ~DataSet() override { stop(); }

  // Returns the number of shards, missing ones included.
  std::size_t size() const { return size_.load(std::memory_order_acquire); }
  // Returns the number of missing ones.
  std::size_t missing() const;
  // REQUIRES, here and below: shard < size(). The reference is valid as long as this.
  const Shard& shard(std::size_t shard) const;
  // Returns the shard's name in addresses: its file name if no other shard has that, and otherwise its path. Valid as
  // long as this.
  std::string_view name(std::size_t shard) const;
  // Returns the shard with a name, a path, or a decimal number, tried in this order; nullopt if there is none.
  std::optional<std::size_t> find_shard(std::string_view name) const;

  // Appends shards, whose numbers follow the others. If all others are counted, counts these before they are visible,
  // so that nothing has to wait for them; that takes as long as scanning them. Otherwise they are counted when they are
  // needed, and so is a shard whose counting was cancelled or failed in a way that may pass. Only one thread may
  // append.
  void append(const RequestContext& context, std::vector<Shard> shards);

  // Returns the store of a shard, and opens it if necessary. Two threads may open the same shard at the same time; then
  // both get the same store. Fails with kDamage if the shard is missing, and otherwise as OpenShard does.
  Result<std::shared_ptr<const RecordStore>> open(const RequestContext& context, std::size_t shard) const;

  // Returns what was counted of a shard. kPending until it and those before it are counted.
  Result<ShardCounts> counts(std::size_t shard);
  // Returns the shard that holds an ordinal of the set, and its ordinal there. Fails with kNotFound if there are too
  // few records; kPending until that is known.
  Result<RecordInShard> locate(std::uint64_t ordinal);
  // Returns the sums over all shards. kPending until all are counted.
  Result<DataSetTotals> totals();
  // Returns the sums so far, the number of counted shards, and that of all shards at that time.
  struct Progress {
    DataSetTotals totals;
    std::size_t shards = 0;
    std::size_t all = 0;
  };
  Progress progress() const;
  // Returns why a counted shard has no records, or is not counted as a whole; nullopt if it is readable.
  std::optional<Error> failure(std::size_t shard) const;
  // Returns the counted shards for which failure() returns something, in ascending order.
  std::vector<std::size_t> failed_shards() const;

 private:
  struct Counted {
    ShardCounts counts;
    std::optional<Error> failure{};
  };

  Result<void> work(const RequestContext& context, Lock& lock) override;
  bool has_reached(SearchKey search_key, std::uint64_t value) const override;
  Result<Counted> count(const RequestContext& context, std::size_t shard) const;
  Result<ShardCounts> count_records(const RequestContext& context, std::size_t shard) const;
  Result<void> add(Result<Counted> counted);
  void publish(std::size_t shards);

  const OpenShard open_;
  const KnownCounts known_;  // may be empty
  const Bounds bounds_;
  mutable BoundedLru<std::size_t, std::shared_ptr<const RecordStore>> stores_;
  std::atomic<std::size_t> size_{0};  // written with mutex_ locked

  // Guarded by mutex_:
  std::deque<Shard> shards_;                                   // may have some that are not visible yet, at the end
  std::unordered_map<std::string_view, std::size_t> by_name_;  // views of paths in shards_
  std::size_t missing_ = 0;
  std::vector<ShardCounts> counted_;  // in order
  DataSetTotals totals_;              // of them
  std::map<std::size_t, Error> failures_;
};

}  // namespace recordfs
