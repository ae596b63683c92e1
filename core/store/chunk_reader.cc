#include "core/store/chunk_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/request_context.h"
#include "core/base/thrown.h"
#include "core/codec/codec.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kAdjacent = 128u << 10;  // the largest gap within a sequential read
// The next chunk of a reader is among this many, because two threads may read for it. A larger number would mistake
// random reads in a small file for sequential ones.
constexpr int kStepsAhead = 2;
constexpr std::uint64_t kTask = 256u << 10;      // bytes: one task decodes several smaller chunks
constexpr std::uint64_t kLeastAhead = 2u << 20;  // bytes, if Bounds::bytes allows it

std::uint64_t decoded_bytes(const ChunkInfo& chunk) {
  return std::max(chunk.stored_size, chunk.decoded_size.value_or(0));
}

constexpr std::uint64_t kLargeChunk = 8u << 20;
// Bytes that a record needs during decoding: its end in the output, and in the layout.
constexpr std::uint64_t kMemoryOfAPlace = 8 + 4;

// Returns whether reading or decoding so many bytes needs permission for slow work.
bool is_slow(std::uint64_t bytes) { return bytes >= RequestContext::kLargeAllocation; }

// Fails if the decoded chunk does not match the scan. Ordinals and offsets would be wrong then.
Result<void> check_counts(const ChunkInfo& chunk, const Layout& layout) {
  const bool same = chunk.records.value_or(layout.records()) == layout.records() &&
                    chunk.decoded_size.value_or(layout.total()) == layout.total();
  if (same) return {};
  return Error{Code::kChanged, chunk.begin, "the chunk's records no longer match its header"};
}

}  // namespace

ReadAhead::ReadAhead(Executor& executor, Work work, Bounds bounds)
    : executor_(executor), work_(std::move(work)), bounds_(bounds) {}

ReadAhead::~ReadAhead() {
  std::unique_lock lock(mutex_);
  no_tasks_.wait(lock, [this] { return tasks_ == 0; });
}

void ReadAhead::was_read(const ChunkInfo& chunk) {
  const std::lock_guard lock(mutex_);
  Run& run = run_of(chunk);
  run.used_at = ++time_;
  latest_.store(chunk.begin, std::memory_order_relaxed);
  if (run.last == chunk.begin && run.end == chunk.end) return;
  advance(run, chunk);
  look_further(run);
}

// Returns the run that the chunk continues or belongs to, or a new run that begins with it.
ReadAhead::Run& ReadAhead::run_of(const ChunkInfo& chunk) {
  const auto found = std::ranges::find_if(runs_, [&](const Run& run) {
    if (run.number == 0) return false;
    const bool is_again = chunk.begin == run.last;
    const auto steps = std::min<std::ptrdiff_t>(std::ssize(run.ahead), kStepsAhead);
    const auto steps_end = run.ahead.begin() + steps;
    const bool is_next = std::ranges::find(run.ahead.begin(), steps_end, chunk.begin, &Ahead::begin) != steps_end;
    return is_again || is_next || (chunk.begin >= run.end && chunk.begin - run.end <= kAdjacent);
  });
  if (found != runs_.end()) return *found;
  Run& oldest = *std::ranges::min_element(runs_, {}, &Run::used_at);
  oldest = {.last = chunk.begin, .end = chunk.end, .tip = chunk, .number = ++time_};
  return oldest;
}

void ReadAhead::advance(Run& run, const ChunkInfo& chunk) {
  run.last = chunk.begin;
  run.end = chunk.end;
  const std::uint64_t bytes = std::max<std::uint64_t>(decoded_bytes(chunk), 1);
  const std::size_t most = std::max<std::size_t>(bounds_.chunks, kLeastAhead / bytes);
  run.wanted = std::clamp<std::size_t>(2 * run.wanted, 1, most);
  const std::uint64_t task = std::min(kTask, bounds_.bytes / 4);
  run.at_once = std::clamp<std::size_t>(task / bytes, 1, std::max<std::size_t>(run.wanted / 2, 1));
  const auto reached = std::ranges::find(run.ahead, chunk.begin, &Ahead::begin);
  if (reached == run.ahead.end()) {
    run.ahead.clear();
    run.ahead_bytes = 0;
    run.tip = chunk;
    return;
  }
  for (auto passed = run.ahead.begin(); passed <= reached; ++passed) run.ahead_bytes -= passed->bytes;
  run.ahead.erase(run.ahead.begin(), reached + 1);
}

void ReadAhead::look_further(Run& run) {
  const bool has_room =
      run.ahead.empty() || (run.ahead.size() + run.at_once <= run.wanted && run.ahead_bytes < bounds_.bytes);
  if (!has_room || run.is_looking || !run.tip) return;
  const auto slot = static_cast<std::size_t>(&run - runs_.data());
  const auto task = [this, slot, number = run.number, tip = *run.tip, count = run.at_once] {
    go_ahead(slot, number, tip, count);
  };
  run.is_looking = executor_.post(Executor::Priority::kAhead, task);
  if (run.is_looking) ++tasks_;
}

// Schedules the chunks after the tip, posts a task for those after them, and decodes. Skips chunks if memory is short,
// or if the work is too slow for this thread's permission.
void ReadAhead::go_ahead(std::size_t slot, std::uint64_t number, const ChunkInfo& tip, std::size_t count) {
  RequestContext::Attempt attempt;
  const RequestContext context(work_.may, attempt);
  const bool is_taken_up = has_memory_for([&] {
    const auto next_chunks = following(context, tip, count);
    if (!take_up(slot, number, tip, next_chunks)) return;
    for (const ChunkInfo& chunk : next_chunks.chunks) work_.decode(context, chunk);
  });
  if (!is_taken_up) take_up(slot, number, tip, {.chunks = {}, .is_last = true});  // their readers decode them
  end_task();
}

auto ReadAhead::following(const RequestContext& context, const ChunkInfo& tip, std::size_t count) const -> NextChunks {
  NextChunks next_chunks;
  next_chunks.chunks.reserve(count);
  while (next_chunks.chunks.size() < count && !next_chunks.is_last) {
    const auto next = work_.next(context, next_chunks.chunks.empty() ? tip : next_chunks.chunks.back());
    if (next) next_chunks.chunks.push_back(*next);
    next_chunks.is_last = !next;
  }
  return next_chunks;
}

// Returns whether the chunks are still wanted.
bool ReadAhead::take_up(std::size_t slot, std::uint64_t number, const ChunkInfo& tip, const NextChunks& next_chunks) {
  const std::lock_guard lock(mutex_);
  Run& run = runs_[slot];
  if (run.number != number) return false;
  run.is_looking = false;
  const bool is_wanted = run.tip && run.tip->begin == tip.begin;
  if (is_wanted) {
    for (const ChunkInfo& chunk : next_chunks.chunks) {
      run.ahead.push_back({chunk.begin, decoded_bytes(chunk)});
      run.ahead_bytes += run.ahead.back().bytes;
    }
    run.tip = next_chunks.is_last ? std::nullopt : std::optional(next_chunks.chunks.back());
  }
  look_further(run);
  return is_wanted;
}

void ReadAhead::end_task() {
  const std::lock_guard lock(mutex_);
  if (--tasks_ == 0) no_tasks_.notify_all();
}

ChunkReader::ChunkReader(const StoredFile& file, const ChunkIndex& index, DamageLog& log)
    : file_(file), index_(index), log_(log), read_ahead_(new_read_ahead()) {}

std::unique_ptr<ReadAhead> ChunkReader::new_read_ahead() const {
  const ReadAhead::Work work{
      .next = [this](const RequestContext& context, const ChunkInfo& chunk) -> std::optional<ChunkInfo> {
        auto next = index_.next_with_records(context, chunk);
        if (next && is_large(*next)) next.reset();
        return next;
      },
      // A chunk may postpone work to its first read, so read it here.
      .decode =
          [this](const RequestContext& context, const ChunkInfo& chunk) {
            if (auto ahead = get_quietly(context, chunk); ahead && !(*ahead)->is_in_memory())
              static_cast<void>(
                  log_.reported(context, read(context, **ahead, 0, (*ahead)->payload_size())).has_value());
          },
      .may = file_.source->filesystem() == 0 ? RequestContext::Permission::kNonBlocking
                                             : RequestContext::Permission::kMayBlock};
  const ReadAhead::Bounds bounds{.chunks = std::size_t{2} * file_.services.executor.threads(),
                                 .bytes = file_.services.chunks.capacity() / 4};
  return std::make_unique<ReadAhead>(file_.services.executor, work, bounds);
}

bool ChunkReader::is_large(const ChunkInfo& chunk) const {
  const std::uint64_t size = std::max(chunk.stored_size, chunk.decoded_size.value_or(0));
  return size > std::min(kLargeChunk, file_.services.chunks.capacity() / 4);
}

// A large uncompressed chunk must be read as a whole for its layout. The reader that follows a listing needs it too.
// That is not necessary if the scan has kept its bytes, as it does where chunks are small.
bool ChunkReader::is_kept_for_reader(const ChunkInfo& chunk) const {
  if (chunk.codec != to_string(CodecId::kNone) || chunk.stored_size <= StoredFile::kSmallChunk) return false;
  StoreResources& services = file_.services;
  const std::uint64_t room = services.chunks.capacity();
  if (is_large(chunk) || file_.source->kept_bytes(chunk.begin, chunk.end) > chunk.stored_size / 2) return false;
  return services.chunks.statistics().bytes + 2 * decoded_bytes(chunk) <= room;
}

Result<std::uint64_t> ChunkReader::records_in(const RequestContext& context, const ChunkInfo& chunk) const {
  if (chunk.records) return *chunk.records;
  ASSIGN_OR_RETURN(const auto known, layout(context, chunk));
  return known->records();
}

Result<std::shared_ptr<const Layout>> ChunkReader::layout(const RequestContext& context, const ChunkInfo& info) const {
  const bool is_known = file_.services.layouts.contains(file_.key_of(info));
  if (!is_known && info.layout_cost == LayoutCost::kDecode) {
    ASSIGN_OR_RETURN(auto decoded, get(context, info));
    return std::shared_ptr<const Layout>(decoded, &decoded->layout());
  }
  if (!is_known && is_kept_for_reader(info)) {
    if (auto decoded = get_alone(context, info)) return std::shared_ptr<const Layout>(*decoded, &(*decoded)->layout());
  }
  return log_.reported(context, cached_layout(context, info));
}

Result<std::shared_ptr<const Layout>> ChunkReader::cached_layout(const RequestContext& context,
                                                                 const ChunkInfo& info) const {
  const CacheKey key = file_.key_of(info);
  if (auto decoded = file_.services.chunks.peek(key); decoded && *decoded) {
    const Layout& of_decoded = (**decoded)->chunk->layout();
    if (check_counts(info, of_decoded)) return std::shared_ptr<const Layout>(**decoded, &of_decoded);
  }
  ASSIGN_OR_RETURN(auto known, file_.cached_layout(context, info));
  if (auto same = check_counts(info, *known); !same) {
    file_.services.layouts.forget(key);
    index_.invalidate();
    return std::move(same).error();
  }
  return known;
}

Result<ChunkReader::Pointer> ChunkReader::decode(const RequestContext& context, const ChunkInfo& chunk,
                                                 const FieldProjection* fields) const {
  auto decoded = decode_in_turn(context, chunk, fields);
  if (decoded) file_.services.decoded_bytes.fetch_add((*decoded)->payload_size(), std::memory_order_relaxed);
  return decoded;
}

Result<ChunkReader::Pointer> ChunkReader::decode_in_turn(const RequestContext& context, const ChunkInfo& chunk,
                                                         const FieldProjection* fields) const {
  DecodeBudgets& budgets = file_.budgets;
  const auto decode_now = [&](const RequestContext& decoding) {
    return fields == nullptr ? file_.container->decode(decoding, chunk)
                             : file_.container->decode_fields(decoding, chunk, *fields);
  };
  if (is_large(chunk)) {
    DecodeBudget::DeferredReservation turn(budgets.slow);
    auto in_place = file_.container->open_in_place(context.with(turn), chunk);
    if (!in_place || *in_place) return in_place;
  }
  if (is_large(chunk) && chunk.decoded_size) {
    const std::uint64_t places = chunk.records.value_or(0) * kMemoryOfAPlace;
    const std::uint64_t bytes = std::max(chunk.stored_size, *chunk.decoded_size) + places;
    if (is_slow(bytes)) {
      TRY(context.permit_slow_work());
    }
    const DecodeBudget::Share share(context, is_slow(bytes) ? budgets.slow : budgets.small, bytes);
    TRY(context.spend(0));
    if (is_slow(bytes)) return decode_now(context);
    DecodeBudget::DeferredReservation turn(budgets.slow);  // for decoding that needs more than declared
    return decode_now(context.with(turn));
  }
  DecodeBudget::DeferredReservation turn(budgets.slow);
  return decode_now(context.with(turn));
}

// The cached chunk may come from a caller with less information about it.
Result<ChunkReader::Pointer> ChunkReader::get_quietly(const RequestContext& context, const ChunkInfo& info) const {
  const CacheKey key = file_.key_of(info);
  ASSIGN_OR_RETURN(const auto decoded,
                   file_.services.chunks.get(context, key, [&]() -> Result<std::shared_ptr<const CachedChunk>> {
                     auto made = decode(context, info);
                     if (file_.source->has_grown()) log_.report_growth();
                     if (file_.source->is_removed()) log_.report_removal();
                     if (!made) return std::move(made).error();
                     file_.services.make_room((*made)->memory());
                     return std::make_shared<const CachedChunk>(CachedChunk{info, std::move(*made)});
                   }));
  if (auto same = check_counts(info, decoded->chunk->layout()); !same) {
    file_.services.chunks.forget(key);
    file_.services.layouts.forget(key);
    index_.invalidate();
    return std::move(same).error();
  }
  return decoded->chunk;
}

Result<ChunkReader::Pointer> ChunkReader::get_alone(const RequestContext& context, const ChunkInfo& info) const {
  return log_.reported(context, get_quietly(context, info));  // includes failures that read-ahead found
}

Result<ChunkReader::Pointer> ChunkReader::get(const RequestContext& context, const ChunkInfo& info) const {
  auto decoded = get_alone(context, info);
  if (decoded) was_read(info);
  return decoded;
}

Result<std::shared_ptr<const Layout>> ChunkReader::layout_before_decoding(const RequestContext& context,
                                                                          const ChunkInfo& info) const {
  if (info.layout_cost != LayoutCost::kDecode) return file_.layout_maker()(context, info);
  ASSIGN_OR_RETURN(const auto decoded, get_quietly(context, info));
  return std::shared_ptr<const Layout>(decoded, &decoded->layout());
}

Result<ChunkReader::Pointer> ChunkReader::take_or_decode(const RequestContext& context, const ChunkInfo& info,
                                                         const FieldProjection* fields) const {
  if (info.layout_cost != LayoutCost::kDecode) return decode(context, info, fields);
  const CacheKey key = file_.key_of(info);
  const auto cached = file_.services.chunks.peek(key);
  if (!cached) return decode(context, info, fields);
  if (!*cached) return cached->error();
  const bool is_for_layout = !(**cached)->info.records;
  if (is_for_layout) file_.services.chunks.forget(key);
  return (**cached)->chunk;
}

Result<ChunkReader::Pointer> ChunkReader::decode_ahead(const RequestContext& context, const ChunkInfo& info,
                                                       const FieldProjection* fields) const {
  ASSIGN_OR_RETURN(auto decoded, take_or_decode(context, info, fields));
  ChunkInfo expected = info;
  if (fields != nullptr) expected.decoded_size.reset();
  TRY(check_counts(expected, decoded->layout()));
  // A chunk may postpone work to its first read. If that fails, each unreadable record reports it later.
  if (!is_large(info) && !decoded->is_in_memory()) {
    static_cast<void>(read(context, *decoded, 0, decoded->payload_size()).has_value());
  }
  return decoded;
}

Result<ChunkReader::Pointer> ChunkReader::decode_uncached(const RequestContext& context, const ChunkInfo& info) const {
  return log_.reported(context, decode_ahead(context, info));
}

// Reading a chunk on demand may decode.
Result<Slice> ChunkReader::read(const RequestContext& context, const Chunk& chunk, std::uint64_t offset,
                                std::uint64_t length) const {
  DecodeBudget::DeferredReservation turn(file_.budgets.slow, DecodeBudget::DeferredReservation::For::kGrows);
  return chunk.read(context.with(turn), offset, length);
}

Result<void> ChunkReader::check_readable(const RequestContext& context, const Layout& layout,
                                         std::uint64_t index) const {
  const Error* failure = layout.failure(index);
  if (failure == nullptr) return {};
  log_.report(context, *failure);
  return *failure;
}

Result<std::uint64_t> ChunkReader::payload_size(const RequestContext& context, const ChunkInfo& info) const {
  auto decoded = get(context, info);
  if (decoded) return (*decoded)->payload_size();
  if (is_permanent(decoded.error().code)) return at_least_one(counted_size(info));
  return std::move(decoded).error();
}

Result<Slice> ChunkReader::read_payload(const RequestContext& context, const ChunkInfo& info, std::uint64_t offset,
                                        std::uint64_t length) const {
  ASSIGN_OR_RETURN(const auto decoded, get(context, info));
  const std::uint64_t size = decoded->payload_size();
  if (offset >= size) return Slice{};
  const Layout& layout = decoded->layout();
  const std::uint64_t end = offset + std::min(length, size - offset);
  if (layout.has_failures()) {
    for (std::uint64_t i = layout.index_at(offset); i < layout.records() && layout.extent(i).begin < end; ++i) {
      TRY(check_readable(context, layout, i));
    }
  }
  return log_.reported(context, read(context, *decoded, offset, end - offset));
}

Result<Slice> ChunkReader::read_raw(const RequestContext& context, Position begin, Position end, std::uint64_t offset,
                                    std::uint64_t length) const {
  if (offset >= end - begin) return Slice{};
  ASSIGN_OR_RETURN(auto bytes, log_.reported(context, read_exactly(context, *file_.source, begin + offset,
                                                                   std::min(length, end - begin - offset))));
  return owned(std::move(bytes));
}

Result<Slice> ChunkReader::read_raw(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t offset,
                                    std::uint64_t length) const {
  auto slice = read_raw(context, chunk.begin, chunk.end, offset, length);
  const std::uint64_t generation = file_.source->generation();
  if (!slice || generation == 0) return slice;
  // A touched file whose ends are unchanged may have changed in between.
  if (auto sound = file_.container->verify(context, chunk); !sound) {
    if (!is_permanent(sound.error().code)) return std::move(sound).error();
    const Error changed{Code::kChanged, chunk.begin, "the file was modified, and this chunk is not valid"};
    log_.report(context, changed);
    return changed;
  }
  if (file_.source->generation() != generation) {
    return Error{Code::kChanged, chunk.begin, "the file is being written"};
  }
  return slice;
}

}  // namespace recordfs
