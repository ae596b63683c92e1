#include "core/store/scan_waiters.h"

#include <algorithm>
#include <utility>

namespace recordfs {

std::uint64_t ScanWaiters::add(SearchKey search_key, std::uint64_t value, std::function<void()> resume) {
  const std::uint64_t wait_id = next_wait_id_++;
  waiters_[static_cast<std::size_t>(search_key)].emplace(value, Waiter{wait_id, std::move(resume)});
  return wait_id;
}

bool ScanWaiters::remove(std::uint64_t wait_id) {
  for (Waiters& waiters : waiters_) {
    const auto found = std::ranges::find(waiters, wait_id, [](const auto& waiter) { return waiter.second.wait_id; });
    if (found == waiters.end()) continue;
    waiters.erase(found);
    return true;
  }
  return false;
}

bool ScanWaiters::empty() const {
  return std::ranges::all_of(waiters_, [](const Waiters& waiters) { return waiters.empty(); });
}

ScanWaiters::Waiters ScanWaiters::take(const std::function<bool(SearchKey, std::uint64_t)>& is_reached) {
  Waiters ready;
  for (std::size_t i = 0; i < kSearchKeys; ++i) {
    Waiters& waiters = waiters_[i];
    while (!waiters.empty() && is_reached(static_cast<SearchKey>(i), waiters.begin()->first)) {
      ready.insert(waiters.extract(waiters.begin()));
    }
  }
  return ready;
}

}  // namespace recordfs
