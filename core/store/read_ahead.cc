#include "core/store/read_ahead.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

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
  const auto next_chunks = following(context, tip, count);
  try {
    if (take_up(slot, number, tip, next_chunks)) {
      for (const ChunkInfo& chunk : next_chunks.chunks) work_.decode(context, chunk);
    }
  } catch (const std::bad_alloc&) {
    // Their reader decodes them.
  }
  end_task();
}

auto ReadAhead::following(const RequestContext& context, const ChunkInfo& tip, std::size_t count) const -> NextChunks {
  NextChunks next_chunks;
  try {
    next_chunks.chunks.reserve(count);
    while (next_chunks.chunks.size() < count && !next_chunks.is_last) {
      const auto next = work_.next(context, next_chunks.chunks.empty() ? tip : next_chunks.chunks.back());
      if (next) next_chunks.chunks.push_back(*next);
      next_chunks.is_last = !next;
    }
  } catch (const std::bad_alloc&) {
    next_chunks.is_last = true;
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

}  // namespace recordfs
