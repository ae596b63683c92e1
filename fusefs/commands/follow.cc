#include "fusefs/commands/follow.h"

#include <chrono>

#include "fusefs/commands/waiting.h"

namespace recordfs {
namespace {

// From `next` on, which goes on behind what was taken. False: nothing more is wanted.
Result<bool> take_all(const RecordStore& store, std::uint64_t& next, const Following& following) {
  auto counts = wait_for([&](Goal& goal) { return store.counts(goal); });
  if (!counts) return std::move(counts).error();
  while (next < counts->records) {
    auto place = wait_for([&](Goal& goal) { return store.chunk_by_ordinal(next, goal); });
    if (!place) return std::move(place).error();
    if (!following.take(store, *place, next - place->before.records)) return false;
    next = place->after().records;
  }
  return true;
}

// Until there is more to take. False: nobody reads the output, or the watch was stopped.
Result<bool> wait_for_growth(GrowingFile& file, FileWatch& watch, int output) {
  for (;;) {
    if (!watch.wait(output) || watch.is_stopped()) return false;
    const auto begin = std::chrono::steady_clock::now();
    auto grown = file.grow([&watch] { watch.wake(); });
    if (!grown) return std::move(grown).error();
    if (!file.is_taking()) watch.rest(rest_after(std::chrono::steady_clock::now() - begin));
    if (*grown) return true;
  }
}

}  // namespace

Result<void> follow_records(GrowingFile& file, FileWatch& watch, const Following& following) {
  for (std::uint64_t next = following.from;;) {
    auto is_wanted = take_all(*file.store(), next, following);
    if (!is_wanted) return std::move(is_wanted).error();
    if (!*is_wanted || !following.pause()) return {};
    auto has_grown = wait_for_growth(file, watch, following.output);
    if (!has_grown) return std::move(has_grown).error();
    if (!*has_grown) return {};
  }
}

}  // namespace recordfs
