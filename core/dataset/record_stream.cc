#include "core/dataset/record_stream.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "core/base/thread.h"
#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kWhole = 64u << 20;      // payloads up to this size are read at once
constexpr std::uint64_t kBlockBytes = 8u << 20;  // of a larger payload, at least one record
constexpr std::uint64_t kRecordMemory = 2 * sizeof(Bytes);

Code code_of(DamageClass damage_class) {
  switch (damage_class) {
    case DamageClass::kUnfinished: return Code::kUnfinished;
    case DamageClass::kUnsupported: return Code::kUnsupported;
    case DamageClass::kStale: return Code::kStale;
    case DamageClass::kDamage: break;
  }
  return Code::kDamage;
}

bool may_pass(const Error& error) { return !is_permanent(error.code) && error.code != Code::kNoContainer; }

// Records that were read one by one, each with an owner.
using Owners = std::vector<std::shared_ptr<const void>>;

}  // namespace

Error error_of(const DamagedRegion& region) {
  return {.code = code_of(region.damage_class), .position = region.begin, .detail = region.reason};
}

StreamProblem problem_of(Error error, const IndexedChunk& indexed, std::uint64_t index,
                         std::optional<std::uint64_t> records) {
  const ChunkInfo& chunk = indexed.chunk;
  if (error.position < chunk.begin || error.position >= chunk.end) error.position = chunk.begin;
  const Position end = error.end > error.position && error.end <= chunk.end ? error.end : chunk.end;
  StreamProblem problem{.error = std::move(error), .end = end, .records_lost = records};
  if (records) problem.first_ordinal = indexed.before.records + index + *records;
  return problem;
}

// Makes the blocks of one decoded chunk.
class RecordStream::ChunkBlocks {
 public:
  // `inside`: damage between the records, in order, with the index of the record after it.
  ChunkBlocks(const RequestContext& context, const RecordStream& stream, const Part& part, const IndexedChunk& indexed,
              std::shared_ptr<const Chunk> chunk, std::deque<StreamProblem> inside)
      : context_(context),
        stream_(stream),
        part_(part),
        indexed_(indexed),
        begin_(indexed.chunk.begin),
        first_(part.base + indexed.before.records),
        chunk_(std::move(chunk)),
        inside_(std::move(inside)) {}

  // Reads the whole payload, if that is not too large, so that the records need no owners of their own.
  void read_whole() {
    if (chunk_->payload_size() > kWhole) return;
    if (auto whole = chunk_->read(context_, 0, chunk_->payload_size())) whole_ = std::move(*whole);
  }
  bool is_whole() const { return whole_.has_value(); }

  // Returns a block with records from `index` on, and advances it: all up to `end`, or as many as kBlockBytes permit.
  RecordBlock take(std::uint64_t& index, std::uint64_t end) {
    const std::uint64_t first = index;
    RecordBlock block = begin_block(index);
    Owners owners;
    for (; index < end && (whole_ || block.bytes < kBlockBytes); ++index) {
      take_damage_before(index, block);
      if (const Error* failure = chunk_->layout().failure(index)) {
        // Consecutive records that fail for one reason are one problem. The next block begins after it.
        const std::uint64_t first_failed = index;
        while (index < end && chunk_->layout().failure(index) == failure) ++index;
        add_problem(block, *failure, first_failed, index - first_failed);
        break;
      }
      auto record = read(index);
      if (!record) {
        add_problem(block, record.error(), index++, 1);
        break;
      }
      block.own_records.push_back(record->bytes);
      block.bytes += record->bytes.size() + kRecordMemory;
      if (!whole_) owners.push_back(std::move(record->owner));
    }
    if (!block.own_records.empty()) block.chunks.push_back({begin_, first, block.own_records.size()});
    return finish_block(std::move(block), std::move(owners));
  }

  // Returns a block with the damage that follows the last record.
  RecordBlock take_rest() {
    RecordBlock block = begin_block(0);
    take_damage_before(UINT64_MAX, block);
    return block;
  }

  // Returns a block with the records of a search.
  RecordBlock take(const SearchResult& found, Span which) const {
    RecordBlock block = begin_block(which.begin);
    Owners owners;
    for (const FoundRecord& one : found.records) {
      if (one.index < which.begin || one.index >= which.end) continue;
      auto record = read(one.index);
      if (!record) continue;  // it was read for the search
      block.own_records.push_back(record->bytes);
      block.ordinals.push_back(first_ + one.index);
      block.bytes += record->bytes.size() + kRecordMemory;
      if (!whole_) owners.push_back(std::move(record->owner));
    }
    for (const Error& failure : found.failures) add_problem(block, failure, 0, std::nullopt);
    return finish_block(std::move(block), std::move(owners));
  }

 private:
  void take_damage_before(std::uint64_t index, RecordBlock& block) {
    for (; !inside_.empty() && inside_.front().before <= index; inside_.pop_front()) {
      block.problems.push_back(std::move(inside_.front()));
      block.problems.back().before = block.own_records.size();
    }
  }

  void add_problem(RecordBlock& block, const Error& error, std::uint64_t index,
                   std::optional<std::uint64_t> records) const {
    block.problems.push_back(stream_.problem_of(error, indexed_, index, records));
    block.problems.back().before = block.own_records.size();
  }

  RecordBlock begin_block(std::uint64_t index) const {
    RecordBlock block;
    block.shard = part_.shard;
    block.first_ordinal = first_ + index;
    return block;
  }

  Result<Slice> read(std::uint64_t index) const {
    const Extent extent = chunk_->layout().extent(index);
    if (!whole_) return part_.store->chunks().read(context_, *chunk_, extent.begin, extent.size);
    return Slice{whole_->bytes.subspan(static_cast<std::size_t>(extent.begin), static_cast<std::size_t>(extent.size)),
                 {}};
  }

  RecordBlock finish_block(RecordBlock block, Owners owners) const {
    block.records = block.own_records;
    if (whole_) {
      block.owner = whole_->owner ? whole_->owner : chunk_;
    } else {
      block.owner = std::make_shared<const Owners>(std::move(owners));
    }
    return block;
  }

  const RequestContext context_;
  const RecordStream& stream_;
  const Part& part_;
  const IndexedChunk indexed_;
  const Position begin_;
  const std::uint64_t first_;  // ordinal in the data set
  const std::shared_ptr<const Chunk> chunk_;
  std::deque<StreamProblem> inside_;
  std::optional<Slice> whole_;
};

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
    if (is_over_) failure_ = shortage("no threads");
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
  try {
    const auto outcome = options_.split ? read_split() : read_all();
    if (!outcome) push_problem(options_.split_shard, outcome.error());
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    failure_ = shortage("no memory");
  }
  {
    const std::lock_guard lock(mutex_);
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

Search RecordStream::search(const Part& part) const {
  return {.matcher = *options_.matcher,
          .is_inverted = options_.is_inverted,
          .largest_record = options_.largest_searched,
          .texts_of = part.texts_of};
}

Result<void> RecordStream::read_all() {
  const RequestContext context(cancelled_);
  const Span& wanted = options_.ordinals;
  if (wanted.is_empty()) return {};
  std::size_t shard = 0;
  std::uint64_t base = 0;
  if (wanted.begin > 0 && set_.size() > 1) {
    ASSIGN_OR_RETURN(const auto place, start_of_records(context));
    shard = place.shard;
    base = wanted.begin - std::min(wanted.begin, place.ordinal);
  }
  for (; shard < set_.size() && base < wanted.end && !cancelled_; ++shard) {
    auto store = set_.open(context, shard);
    if (!store) {
      if (!push_problem(shard, store.error()) || may_pass(store.error())) return {};
      continue;
    }
    Part part{.shard = shard, .store = std::move(*store), .base = base, .selection = {}};
    if (options_.texts_of) part.texts_of = options_.texts_of(part.shard, part.store);
    part.selection.records = {.begin = wanted.begin - std::min(wanted.begin, base),
                              .end = wanted.end == UINT64_MAX ? UINT64_MAX : wanted.end - base};
    const auto records = read(part);
    if (!records) {
      if (!push_problem(shard, records.error()) || may_pass(records.error())) return {};
      continue;
    }
    base += *records;
  }
  return {};
}

// If there are too few records, returns the shard of the last one, after which records may have been lost.
Result<RecordInShard> RecordStream::start_of_records(const RequestContext& context) {
  const std::uint64_t begin = options_.ordinals.begin;
  auto place = wait_for(context, [&] { return set_.locate(begin); });
  if (place || place.error().code != Code::kNotFound) return place;
  ASSIGN_OR_RETURN(const auto totals, wait_for(context, [&] { return set_.totals(); }));
  if (totals.records == 0) return RecordInShard{.shard = 0, .ordinal = begin};
  ASSIGN_OR_RETURN(const auto last, set_.locate(totals.records - 1));
  return RecordInShard{.shard = last.shard, .ordinal = begin - (totals.records - 1 - last.ordinal)};
}

// Returns the number of records, after the damage that follows the last one.
Result<std::uint64_t> RecordStream::read_end(const RequestContext& context, const Part& part) {
  const ChunkIndex& index = part.store->index();
  ASSIGN_OR_RETURN(const auto totals, wait_for(context, [&] { return index.totals(ScanDetail::kCounts); }));
  ASSIGN_OR_RETURN(const auto damage, wait_for(context, [&] { return index.damage(); }));
  RecordBlock block;
  block.shard = part.shard;
  for (const DamageRow& row : *damage) {
    const bool is_stale = row.region.damage_class == DamageClass::kStale;
    if (!is_stale && row.first_ordinal >= totals.records) block.problems.push_back(problem_of(row));
  }
  push(std::move(block));
  return totals.records;
}

Result<void> RecordStream::read_split() {
  const RequestContext context(cancelled_);
  ASSIGN_OR_RETURN(auto store, set_.open(context, options_.split_shard));
  Part part{.shard = options_.split_shard, .store = std::move(store), .selection = everything()};
  if (options_.texts_of) part.texts_of = options_.texts_of(part.shard, part.store);
  if (part.store->traits().is_in_file_order) {
    ASSIGN_OR_RETURN(part.selection.from, start_of(context, *options_.split, *part.store));
    TRY(read(part));
    return {};
  }
  ASSIGN_OR_RETURN(const auto content, content_of(context, *options_.split, *part.store));
  for (const DamagedRegion& region : content.damage) {
    if (region.damage_class == DamageClass::kStale) continue;
    RecordBlock block;
    block.shard = part.shard;
    block.problems.push_back(problem_of({.region = region}));
    if (!push(std::move(block))) return {};
  }
  for (const IndexedChunk& indexed : content.chunks) {
    const Finish finish = work_on_step(context, part, {.indexed = indexed, .damage = {}});
    if (finish && !finish()) return {};
  }
  return {};
}

Result<std::uint64_t> RecordStream::read(Part& part) {
  ScanOptions options{.threads = options_.threads, .memory = options_.memory, .cancelled = &cancelled_};
  const RequestContext context(cancelled_);
  if (options_.split) {
    options.end_position = options_.split->end;
  } else if (part.selection.records.begin > 0) {
    auto indexed = wait_for(
        context, [&] { return part.store->index().find(context, SearchKey::kRecords, part.selection.records.begin); });
    if (!indexed && indexed.error().code == Code::kNotFound) return read_end(context, part);
    ASSIGN_OR_RETURN(part.selection.from, std::move(indexed));
  }
  options.from = part.selection.from;
  options.end_record = part.selection.records.end;
  const WorkOnBatch work_on = [&](const std::shared_ptr<const ScannedBatch>& batch) {
    return work_on_batch(part, batch);
  };
  // Batches have no chunks, which texts of records need.
  ASSIGN_OR_RETURN(const auto sums, scan(
                                        *part.store, options,
                                        [&](const RequestContext& working, const ScannedStep& step) {
                                          return work_on_step(working, part, step);
                                        },
                                        part.texts_of ? WorkOnBatch() : work_on));
  return sums.records;
}

bool RecordStream::takes(const Part& part, const DamageRow& row) const {
  if (row.region.damage_class == DamageClass::kStale) return false;
  return options_.split ? options_.split->owns(row.region.begin) : part.selection.lies_inside(row.first_ordinal);
}

StreamProblem RecordStream::problem_of(const DamageRow& row, std::size_t before) const {
  StreamProblem problem{
      .before = before, .error = error_of(row.region), .end = row.region.end, .records_lost = row.region.records_lost};
  if (!options_.split) problem.first_ordinal = row.first_ordinal;
  return problem;
}

StreamProblem RecordStream::problem_of(Error error, const IndexedChunk& indexed, std::uint64_t index,
                                       std::optional<std::uint64_t> records) const {
  StreamProblem problem = recordfs::problem_of(std::move(error), indexed, index, records);
  if (options_.split) problem.first_ordinal.reset();
  return problem;
}

Finish RecordStream::work_on_step(const RequestContext& context, const Part& part, const ScannedStep& step) {
  auto damage = std::make_shared<RecordBlock>();  // before the chunk
  damage->shard = part.shard;
  std::deque<StreamProblem> inside;
  const std::uint64_t first = step.indexed ? step.indexed->before.records : UINT64_MAX;
  for (const DamageRow& row : step.damage) {
    if (!takes(part, row)) continue;
    if (row.first_ordinal <= first || options_.matcher) {
      damage->problems.push_back(problem_of(row));
    } else {
      inside.push_back(problem_of(row, static_cast<std::size_t>(row.first_ordinal - first)));
    }
  }
  const auto push_damage = [this, damage] { return push(std::move(*damage)); };
  if (!step.indexed) return push_damage;
  const IndexedChunk& indexed = *step.indexed;
  const bool is_owned = !options_.split || options_.split->owns(indexed.chunk.begin);
  const Span which =
      options_.split ? Span{.begin = 0, .end = indexed.chunk.records.value_or(0)} : part.selection.within(indexed);
  const auto chunk = !is_owned || (which.is_empty() && !part.selection.lies_inside(indexed.before.records)) ||
                             (indexed.chunk.records == 0u && indexed.chunk.decoded_size == 0u)
                         ? Result<std::shared_ptr<const Chunk>>(nullptr)
                         : part.store->chunks().decode_ahead(context, indexed.chunk);
  if (!chunk || *chunk == nullptr) {
    for (StreamProblem& problem : inside) {
      damage->problems.push_back(std::move(problem));
      damage->problems.back().before = 0;
    }
    if (!chunk) damage->problems.push_back(problem_of(chunk.error(), indexed, 0, indexed.chunk.records));
    return push_damage;
  }
  // cppcheck-suppress returnDanglingLifetime
  auto blocks =
      std::make_shared<ChunkBlocks>(RequestContext(cancelled_), *this, part, indexed, *chunk, std::move(inside));
  blocks->read_whole();
  std::shared_ptr<const SearchResult> found;
  if (options_.matcher) {
    found = std::make_shared<const SearchResult>(
        search_chunk(RequestContext(cancelled_), *part.store, indexed.chunk, **chunk, search(part)));
  }
  std::shared_ptr<RecordBlock> ahead;
  std::uint64_t index = which.begin;
  if (found) {
    ahead = std::make_shared<RecordBlock>(blocks->take(*found, which));
    index = which.end;
  } else if (blocks->is_whole()) {
    ahead = std::make_shared<RecordBlock>(blocks->take(index, which.end));
  }
  return [this, push_damage, blocks, ahead, index, end = which.end]() mutable {
    if (!push_damage() || (ahead && !push(std::move(*ahead)))) return false;
    while (index < end) {
      if (!push(blocks->take(index, end))) return false;
    }
    return push(blocks->take_rest());
  };
}

Finish RecordStream::work_on_batch(const Part& part, const std::shared_ptr<const ScannedBatch>& batch) {
  std::vector<FoundRecord> found;
  if (options_.matcher) found = search_batch(batch->content, search(part));
  return [this, &part, batch, found = std::move(found)] {
    const RecordBatch& content = batch->content;
    Span which = part.selection.within(batch->before.records, content.run.records);
    if (options_.split) {
      // The first chunks may begin before the split.
      which = {.begin = 0, .end = content.run.records};
      for (const BatchChunk& chunk : content.chunks) {
        if (options_.split->owns(chunk.begin)) break;
        which.begin += chunk.records;
      }
    }
    RecordBlock block;
    block.shard = part.shard;
    block.first_ordinal = part.base + batch->before.records + which.begin;
    block.owner = batch;
    block.bytes = content.window.bytes.size();
    for (const Buffer& buffer : content.buffers) block.bytes += buffer.size();
    if (options_.matcher) {
      for (const FoundRecord& one : found) {
        if (one.index < which.begin || one.index >= which.end) continue;
        block.own_records.push_back(content.records[static_cast<std::size_t>(one.index)]);
        block.ordinals.push_back(part.base + batch->before.records + one.index);
      }
      block.records = block.own_records;
    } else {
      std::uint64_t first = 0;  // of the chunk, in the batch
      for (const BatchChunk& chunk : content.chunks) {
        const std::uint64_t begin = std::clamp(which.begin, first, first + chunk.records);
        const std::uint64_t end = std::clamp(which.end, begin, first + chunk.records);
        if (begin < end) block.chunks.push_back({chunk.begin, begin - first, end - begin});
        first += chunk.records;
      }
      block.records =
          std::span(content.records)
              .subspan(static_cast<std::size_t>(which.begin), static_cast<std::size_t>(which.end - which.begin));
    }
    return push(std::move(block));
  };
}

}  // namespace recordfs
