#include "fusefs/commands/follow.h"

#include <algorithm>
#include <chrono>

#include "core/store/wait_ticket.h"

namespace recordfs {
namespace {

// Takes all records from `next` on, and moves `next` to the end. Returns false if `take` did.
Result<bool> take_all(const RecordStore& store, std::uint64_t& next, const Following& following) {
  ASSIGN_OR_RETURN(const auto counts, wait_for([&] { return store.index().totals(ScanDetail::kCounts); }));
  const OrdinalInterval records{.begin = next, .end = std::max(next, counts.records)};
  next = records.end;
  return records.begin == records.end || following.take(store, records);
}

enum class Waited : std::uint8_t { kMore, kStopped, kReplaced };

// Waits until there are more records, the reader of the output has gone, or the watch was stopped. If files are
// followed by name, also until another file is at the path and there are no more records of this one.
Result<Waited> wait_for_more(GrowingFile& file, FileWatch& watch, const Following& following, bool& has_moved) {
  for (;;) {
    if (!watch.wait(following.output) || watch.is_stopped()) return Waited::kStopped;
    if (!has_moved && !file.is_at_its_path()) {
      has_moved = true;
      if (following.moved) following.moved();
    }
    const bool is_replaced = following.by_name && file.is_replaced();  // before the last look at the old file
    const auto begin = std::chrono::steady_clock::now();
    ASSIGN_OR_RETURN(const auto grown, file.grow([&watch] { watch.wake(); }));
    if (file.is_taking()) continue;
    if (!grown && is_replaced) return Waited::kReplaced;
    watch.rest(rest_after(std::chrono::steady_clock::now() - begin));
    if (grown) return Waited::kMore;
  }
}

}  // namespace

Result<FollowEnd> follow_records(GrowingFile& file, FileWatch& watch, const Following& following) {
  bool has_moved = false;
  for (std::uint64_t next = following.from;;) {
    ASSIGN_OR_RETURN(const auto is_wanted, take_all(*file.store(), next, following));
    if (!is_wanted || !following.pause()) return FollowEnd::kStopped;
    ASSIGN_OR_RETURN(const auto waited, wait_for_more(file, watch, following, has_moved));
    if (waited == Waited::kStopped) return FollowEnd::kStopped;
    if (waited == Waited::kReplaced) return FollowEnd::kReplaced;
  }
}

}  // namespace recordfs
