#include "core/store/read_ahead.h"

#include <algorithm>
#include <new>
#include <utility>

namespace recordfs {
namespace {

constexpr std::uint64_t kAdjacent = 128u << 10;  // a gap that still counts as reading on

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
  if (run.last == chunk.begin && run.end == chunk.end) return;
  advance(run, chunk);
  look_further(run);
}

// The run that the chunk goes on with or stands in, or a new one that begins with it.
ReadAhead::Run& ReadAhead::run_of(const ChunkInfo& chunk) {
  const auto found = std::ranges::find_if(runs_, [&](const Run& run) {
    if (run.number == 0) return false;
    const bool is_again = chunk.begin == run.last;
    const bool is_ahead = std::ranges::find(run.ahead, chunk.begin, &Ahead::begin) != run.ahead.end();
    return is_again || is_ahead || (chunk.begin >= run.end && chunk.begin - run.end <= kAdjacent);
  });
  if (found != runs_.end()) return *found;
  Run& oldest = *std::ranges::min_element(runs_, {}, &Run::used_at);
  oldest = {.last = chunk.begin, .end = chunk.end, .tip = chunk, .number = ++time_};
  return oldest;
}

void ReadAhead::advance(Run& run, const ChunkInfo& chunk) {
  run.last = chunk.begin;
  run.end = chunk.end;
  run.wanted = std::min(std::max<std::size_t>(2 * run.wanted, 1), bounds_.chunks);
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
  const bool has_room = run.ahead.size() < run.wanted && (run.ahead.empty() || run.ahead_bytes < bounds_.bytes);
  if (!has_room || run.is_looking || !run.tip) return;
  const auto slot = static_cast<std::size_t>(&run - runs_.data());
  run.is_looking = executor_.post(Executor::Priority::kAhead,
                                  [this, slot, number = run.number, tip = *run.tip] { go_ahead(slot, number, tip); });
  if (run.is_looking) ++tasks_;
}

// Takes up the chunk behind the tip, lets another task do so with the one behind that, and decodes. Where memory is
// short, less is read ahead.
void ReadAhead::go_ahead(std::size_t slot, std::uint64_t number, const ChunkInfo& tip) {
  const auto next = behind(tip);
  try {
    if (take_up(slot, number, tip, next)) work_.decode(*next);
  } catch (const std::bad_alloc&) {
    // Its reader decodes it then.
  }
  end_task();
}

std::optional<ChunkInfo> ReadAhead::behind(const ChunkInfo& tip) const {
  try {
    return work_.next(tip);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

// Whether `next` is still wanted.
bool ReadAhead::take_up(std::size_t slot, std::uint64_t number, const ChunkInfo& tip,
                        const std::optional<ChunkInfo>& next) {
  const std::lock_guard lock(mutex_);
  Run& run = runs_[slot];
  if (run.number != number) return false;
  run.is_looking = false;
  const bool is_tip = run.tip && run.tip->begin == tip.begin;
  if (is_tip) run.tip = next;
  const bool is_wanted = is_tip && next;
  if (is_wanted) {
    run.ahead.push_back({next->begin, decoded_bytes(*next)});
    run.ahead_bytes += run.ahead.back().bytes;
  }
  look_further(run);
  return is_wanted;
}

void ReadAhead::end_task() {
  const std::lock_guard lock(mutex_);
  if (--tasks_ == 0) no_tasks_.notify_all();
}

}  // namespace recordfs
