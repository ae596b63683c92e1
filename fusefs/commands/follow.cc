#include "fusefs/commands/follow.h"

#include <algorithm>
#include <chrono>

#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Takes all records from `next` on, and moves `next` to the end. Returns false if `take` did.
Result<bool> take_all(const RecordStore& store, std::uint64_t& next, const Following& following) {
  ASSIGN_OR_RETURN(const auto counts, wait_for([&] { return store.index().totals(ScanDetail::kCounts); }));
  const Span records{.begin = next, .end = std::max(next, counts.records)};
  next = records.end;
  return records.begin == records.end || following.take(store, records);
}

// Returns true when there are more records. Returns false if the reader of the output has gone or the watch was
// stopped.
Result<bool> wait_for_more(FollowedFile& file, FileWatch& watch, const Following& following, bool& has_moved) {
  for (;;) {
    if (!watch.wait(following.output) || watch.is_stopped()) return false;
    if (!has_moved && !file.is_at_its_path()) {
      has_moved = true;
      if (following.moved) following.moved();
    }
    const auto begin = std::chrono::steady_clock::now();
    ASSIGN_OR_RETURN(const auto grown, file.grow([&watch] { watch.wake(); }));
    if (!file.is_taking()) watch.rest(rest_after(std::chrono::steady_clock::now() - begin));
    if (grown) return true;
  }
}

}  // namespace

Result<void> follow_records(FollowedFile& file, FileWatch& watch, const Following& following) {
  bool has_moved = false;
  for (std::uint64_t next = following.from;;) {
    ASSIGN_OR_RETURN(const auto is_wanted, take_all(*file.store(), next, following));
    if (!is_wanted || !following.pause()) return {};
    ASSIGN_OR_RETURN(const auto has_grown, wait_for_more(file, watch, following, has_moved));
    if (!has_grown) return {};
  }
}

}  // namespace recordfs
