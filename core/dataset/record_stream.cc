#include "core/dataset/record_stream.h"

#include <utility>

#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

bool may_pass(const Error& error) { return !is_permanent(error.code) && error.code != Code::kNoContainer; }

}  // namespace

RecordStream::~RecordStream() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

RecordStream::Next RecordStream::next(RecordBlock& block, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable() && !is_over_) {
    thread_ = start_thread([this] { run(); });
    is_over_ = !thread_.joinable();
    if (is_over_) failure_ = out_of_memory("no threads");
  }
  if (!changed_.wait_for(lock, timeout, [this] { return !blocks_.empty() || is_over_; })) return Next::kTimeout;
  if (blocks_.empty()) {
    if (!failure_) return Next::kEnd;
    block = RecordBlock();
    block.problems.push_back({.error = *std::exchange(failure_, std::nullopt)});
    return Next::kBlock;
  }
  block = std::move(blocks_.front());
  blocks_.pop_front();
  bytes_ -= block.bytes;
  lock.unlock();
  changed_.notify_all();
  return Next::kBlock;
}

void RecordStream::run() {
  const bool has_memory = has_memory_for([this] {
    const auto outcome = read_all();
    if (!outcome) push_problem(options_.split_shard, outcome.error());
  });
  {
    const std::lock_guard lock(mutex_);
    if (!has_memory) failure_ = out_of_memory("no memory");
    is_over_ = true;
  }
  changed_.notify_all();
}

bool RecordStream::push(RecordBlock block) {
  if (block.records.empty() && block.problems.empty()) return !cancelled_;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return blocks_.empty() || bytes_ < options_.memory || cancelled_; });
    if (cancelled_) return false;
    bytes_ += block.bytes;
    blocks_.push_back(std::move(block));
  }
  changed_.notify_all();
  return true;
}

bool RecordStream::push_problem(std::size_t shard, Error error) {
  RecordBlock block;
  block.shard = shard;
  block.problems.push_back({.error = std::move(error)});
  return push(std::move(block));
}

Result<void> RecordStream::read_all() {
  if (options_.split) {
    TRY(read(options_.split_shard, 0, {.records = {}}));
    return {};
  }
  const OrdinalInterval& wanted = options_.ordinals;
  RecordInShard first{.shard = 0, .ordinal = wanted.begin};
  if (wanted.begin > 0 && !wanted.is_empty() && set_.size() > 1) {
    ASSIGN_OR_RETURN(first, start_of_records());
  }
  each_shard(
      set_, wanted, first,
      [this](std::size_t shard, std::uint64_t base, const OrdinalInterval& records) -> std::optional<std::uint64_t> {
        if (cancelled_) return std::nullopt;
        const auto read = this->read(shard, base, {.records = records});
        if (read) return *read;
        if (!push_problem(shard, read.error()) || may_pass(read.error())) return std::nullopt;
        return 0;
      });
  return {};
}

// If there are too few records, returns the shard of the last one, after which records may have been lost.
Result<RecordInShard> RecordStream::start_of_records() {
  const RequestContext context(cancelled_);
  const std::uint64_t begin = options_.ordinals.begin;
  auto place = wait_for(context, [&] { return set_.locate(begin); });
  if (place || place.error().code != Code::kNotFound) return place;
  ASSIGN_OR_RETURN(const auto totals, wait_for(context, [&] { return set_.totals(); }));
  if (totals.records == 0) return RecordInShard{.shard = 0, .ordinal = begin};
  ASSIGN_OR_RETURN(const auto last, set_.locate(totals.records - 1));
  return RecordInShard{.shard = last.shard, .ordinal = begin - (totals.records - 1 - last.ordinal)};
}

// Returns the number of records, after the damage that follows the last one.
Result<std::uint64_t> RecordStream::read_end(std::size_t shard, const RecordStore& store) {
  const RequestContext context(cancelled_);
  const ChunkIndex& index = store.index();
  ASSIGN_OR_RETURN(const auto totals, wait_for(context, [&] { return index.totals(ScanDetail::kCounts); }));
  ASSIGN_OR_RETURN(const auto damage, wait_for(context, [&] { return index.damage(); }));
  RecordBlock block;
  block.shard = shard;
  for (const DamageRow& row : *damage) {
    const bool is_stale = row.region.damage_class == DamageClass::kStale;
    if (!is_stale && row.first_ordinal >= totals.records) block.problems.push_back(problem_of(row));
  }
  push(std::move(block));
  return totals.records;
}

Result<std::uint64_t> RecordStream::read(std::size_t shard, std::uint64_t base, Selection selection) {
  const RequestContext context(cancelled_);
  ASSIGN_OR_RETURN(const auto store, set_.open(context, shard));
  if (!options_.split && selection.records.begin > 0) {
    auto indexed =
        wait_for(context, [&] { return store->index().find(context, SearchKey::kRecords, selection.records.begin); });
    if (!indexed && indexed.error().code == Code::kNotFound) return read_end(shard, *store);
    ASSIGN_OR_RETURN(selection.from, std::move(indexed));
  }
  BlockReader reader{.shard = shard,
                     .base = base,
                     .part = {.store = *store, .selection = std::move(selection), .split = options_.split},
                     .cancelled = cancelled_,
                     .take = [this](RecordBlock block) { return push(std::move(block)); }};
  if (options_.fields_of) reader.fields = options_.fields_of(shard, store);
  if (options_.matcher || options_.selects) {
    reader.search.emplace(Search{.matcher = options_.matcher.get(),
                                 .is_inverted = options_.is_inverted,
                                 .largest_record = options_.largest_searched,
                                 .texts_of = options_.texts_of ? options_.texts_of(shard, store) : TextsOfRecord(),
                                 .selects = options_.selects ? options_.selects(shard, store) : SelectRecord()});
  }
  return reader.read(options_.threads, options_.memory);
}

}  // namespace recordfs
