#include "core/dataset/data_set.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <mutex>
#include <utility>

#include "core/base/parse_number.h"
#include "core/store/executor.h"

namespace recordfs {
namespace {

constexpr std::size_t kSeveral = std::numeric_limits<std::size_t>::max();

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Error missing_error(const Shard& shard) {
  return {.code = Code::kDamage, .detail = shard.path + ": this shard is missing"};
}

}  // namespace

DataSet::DataSet(ShardList list, OpenShard open, Bounds bounds, KnownCounts known)
    : open_(std::move(open)),
      known_(std::move(known)),
      bounds_(bounds),
      stores_(std::max<std::size_t>(bounds.open_shards, 1)),
      shards_(std::make_move_iterator(list.shards.begin()), std::make_move_iterator(list.shards.end())) {
  const std::lock_guard lock(mutex_);
  publish(shards_.size());
}

// Makes the first shards visible. REQUIRES: mutex_ is locked.
void DataSet::publish(std::size_t shards) {
  by_name_.reserve(shards);
  for (std::size_t i = size(); i < shards; ++i) {
    const auto [found, is_new] = by_name_.emplace(file_name(shards_[i].path), i);
    if (!is_new) found->second = kSeveral;
    missing_ += shards_[i].is_missing ? 1 : 0;
  }
  size_.store(shards, std::memory_order_release);
}

std::size_t DataSet::missing() const {
  const std::lock_guard lock(mutex_);
  return missing_;
}

const Shard& DataSet::shard(std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  return shards_[shard];
}

std::string_view DataSet::name(std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  const std::string_view path = shards_[shard].path;
  const auto found = by_name_.find(file_name(path));
  return found != by_name_.end() && found->second == shard ? file_name(path) : path;
}

std::optional<std::size_t> DataSet::find_shard(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_name_.find(name); found != by_name_.end() && found->second != kSeveral) {
    return found->second;
  }
  const auto end_of_visible = shards_.begin() + static_cast<std::ptrdiff_t>(size());
  const auto by_path = std::find_if(shards_.begin(), end_of_visible, [&](const auto& one) { return one.path == name; });
  if (by_path != end_of_visible) return static_cast<std::size_t>(by_path - shards_.begin());
  const auto number = parse_number<std::size_t>(name);
  return number && *number < size() ? number : std::nullopt;
}

void DataSet::append(const RequestContext& context, std::vector<Shard> shards) {
  std::size_t begin = 0;
  bool are_counted = false;
  {
    const std::lock_guard lock(mutex_);
    begin = size();
    are_counted = counted_.size() == begin;
    shards_.resize(begin);  // drops what a call has left that ran out of memory
    for (Shard& shard : shards) shards_.push_back(std::move(shard));
  }
  const std::size_t end = begin + shards.size();
  std::vector<Counted> counted;
  for (std::size_t shard = begin; are_counted && shard < end; ++shard) {
    auto next = count(context, shard);
    if (!next) break;
    counted.push_back(std::move(*next));
  }
  const std::lock_guard lock(mutex_);
  publish(end);
  for (Counted& next : counted) static_cast<void>(add(std::move(next)));
}

Result<std::shared_ptr<const RecordStore>> DataSet::open(const RequestContext& context, std::size_t shard) const {
  const Shard& opened = this->shard(shard);
  if (opened.is_missing) return missing_error(opened);
  if (auto store = stores_.find(shard)) return *store;
  ASSIGN_OR_RETURN(auto store, open_(context, shard, opened));
  return stores_.add(shard, std::move(store));
}

Result<ShardCounts> DataSet::counts(std::size_t shard) {
  const std::lock_guard lock(mutex_);
  if (shard < counted_.size()) return counted_[shard];
  return failure_or_pending(SearchKey::kChunks, shard);
}

Result<RecordInShard> DataSet::locate(std::uint64_t ordinal) {
  const std::lock_guard lock(mutex_);
  if (ordinal < totals_.records) {
    const auto after = std::ranges::upper_bound(counted_, ordinal, {}, &ShardCounts::first_ordinal);
    // Shards without records have the ordinal of the next one.
    const auto found = std::prev(after);
    return RecordInShard{static_cast<std::size_t>(found - counted_.begin()), ordinal - found->first_ordinal};
  }
  if (counted_.size() == size()) return Error{.code = Code::kNotFound, .detail = "no such record"};
  return failure_or_pending(SearchKey::kRecords, ordinal);
}

Result<DataSetTotals> DataSet::totals() {
  const std::lock_guard lock(mutex_);
  if (counted_.size() == size()) return totals_;
  return failure_or_pending(SearchKey::kChunks, kEverything);
}

DataSet::Progress DataSet::progress() const {
  const std::lock_guard lock(mutex_);
  return {totals_, counted_.size(), size()};
}

std::optional<Error> DataSet::failure(std::size_t shard) const {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(shard);
  if (found == failures_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::size_t> DataSet::failed_shards() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> shards;
  for (const auto& [shard, error] : failures_) shards.push_back(shard);
  return shards;
}

bool DataSet::has_reached(SearchKey search_key, std::uint64_t value) const {
  if (counted_.size() == size()) return true;
  return value < (search_key == SearchKey::kRecords ? totals_.records : counted_.size());
}

// Counts shards ahead of those that are waited for, as far as there are threads.
Result<void> DataSet::work(const RequestContext& context, Lock& lock) {
  const unsigned threads = std::max(bounds_.threads, 1u);
  Executor executor(threads - 1);
  Result<void> outcome;
  while (outcome && counted_.size() < size() && !stopping_ && has_waiters()) {
    std::size_t next = counted_.size();
    lock.unlock();
    executor.run_in_order({.tasks = threads}, [&]() -> std::optional<Executor::OrderedTask> {
      {
        const std::lock_guard held(mutex_);
        if (next == size() || stopping_ || !has_waiters()) return std::nullopt;
      }
      const auto counted = std::make_shared<Result<Counted>>(out_of_memory("no memory"));
      const auto finish = [this, &outcome, counted](bool) {
        // Unlocked again if this throws: the tasks that still run need the mutex.
        Lock held(mutex_);
        outcome = add(std::move(*counted));
        if (outcome) resume_waiters(held);
        return outcome.has_value();
      };
      return Executor::OrderedTask{
          .run = [this, &context, counted, shard = next++] { *counted = count(context, shard); }, .finish = finish};
    });
    lock.lock();
  }
  return outcome;
}

Result<DataSet::Counted> DataSet::count(const RequestContext& context, std::size_t shard) const {
  const auto counted = count_records(context, shard);
  if (counted) return Counted{*counted};
  const Error& why = counted.error();
  const bool is_final = bounds_.skips_all_failures && why.code != Code::kInterrupted;
  if (is_final || is_permanent(why.code) || why.code == Code::kNoContainer) return Counted{{}, why};
  Error failed = why;
  if (failed.code != Code::kInterrupted) failed.detail = this->shard(shard).path + ": " + to_string(why);
  failed.position = 0;
  return failed;
}

Result<ShardCounts> DataSet::count_records(const RequestContext& context, std::size_t shard) const {
  const Shard& counted = this->shard(shard);
  if (known_ && !counted.is_missing) {
    if (const auto known = known_(context, shard, counted, bounds_.detail)) return *known;
  }
  ASSIGN_OR_RETURN(const auto store, open(context, shard));
  ASSIGN_OR_RETURN(const auto found, wait_for(context, [&] { return store->index().counted(bounds_.detail); }));
  return ShardCounts{.records = found.totals.records,
                     .chunks = found.totals.chunks,
                     .stored = store->source().size(),
                     .damaged_regions = found.damaged_regions,
                     .format = store->traits().format,
                     .bytes = found.totals.bytes};
}

// REQUIRES: mutex_ is locked.
Result<void> DataSet::add(Result<Counted> counted) {
  if (!counted) return std::move(counted).error();
  ShardCounts& counts = counted->counts;
  counts.first_ordinal = totals_.records;
  counts.records = std::min(counts.records, kLargestSum - totals_.records);
  if (counted->failure) failures_.emplace(counted_.size(), std::move(*counted->failure));
  counted_.push_back(counts);
  totals_.unopened += counted->failure ? 1 : 0;
  totals_.records += counts.records;
  totals_.chunks += counts.chunks;
  totals_.stored += counts.stored;
  totals_.damaged_regions += counts.damaged_regions;
  return {};
}

}  // namespace recordfs
