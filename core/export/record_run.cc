#include "core/export/record_run.h"

#include <algorithm>

namespace recordfs {
namespace {

// Return the end of records from `first` on that are handled together: that can be read, and that fail for the same
// reason as the first.
std::uint64_t end_of_readable(const Layout& layout, std::uint64_t first, std::uint64_t end, std::uint64_t bytes) {
  const std::uint64_t limit = layout.extent(first).begin + bytes;
  const std::uint64_t after = std::max(std::min(end, layout.index_at(limit)), first + 1);
  for (std::uint64_t i = first + 1; layout.has_failures() && i < after; ++i) {
    if (layout.failure(i) != nullptr) return i;
  }
  return after;
}

std::uint64_t end_of_failed(const Layout& layout, std::uint64_t first, std::uint64_t end) {
  const Error* const why = layout.failure(first);
  while (first < end && layout.failure(first) == why) ++first;
  return first;
}

}  // namespace

void RecordRun::fail(RecordsFailure failure, bool skips_damage) {
  failures.push_back(std::move(failure));
  is_over = !skips_damage;
}

void each_readable(const RunReading& reading, OrdinalInterval which, RecordRun& run,
                   const std::function<bool()>& goes_on, const std::function<bool()>& has_room,
                   const std::function<void(OrdinalInterval readable)>& take) {
  const Layout& layout = reading.chunk.layout();
  for (std::uint64_t i = which.begin; i < which.end && goes_on();) {
    if (!has_room()) {
      run.rest = {.begin = i, .end = which.end};
      return;
    }
    const Error* const why = layout.failure(i);
    const std::uint64_t end =
        why != nullptr ? end_of_failed(layout, i, which.end) : end_of_readable(layout, i, which.end, reading.bytes);
    if (why != nullptr) {
      run.fail({.why = *why, .records = end - i}, reading.skips_damage);
    } else {
      take({.begin = i, .end = end});
    }
    i = end;
  }
}

}  // namespace recordfs
