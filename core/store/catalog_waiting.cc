// Catalog: requests that wait for the scan.
#include <algorithm>
#include <new>
#include <utility>

#include "core/store/catalog.h"

namespace recordfs {

std::uint64_t Catalog::wait(const WaitTicket& ticket, std::function<void()> resume) {
  std::uint64_t wait_id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (reached(ticket.search_key, ticket.value) || failure_ || stopping_) return 0;
    wait_id = next_wait_id_++;
    waiters_[static_cast<std::size_t>(ticket.search_key)].emplace(ticket.value, Waiter{wait_id, std::move(resume)});
  }
  start();
  const std::lock_guard lock(mutex_);
  const bool stands_still = failure_ && !running_;
  return stands_still && remove_waiter(wait_id) ? 0 : wait_id;
}

bool Catalog::remove_waiter(std::uint64_t wait_id) {
  for (auto& waiters : waiters_) {
    const auto found = std::ranges::find(waiters, wait_id, [](const auto& waiter) { return waiter.second.wait_id; });
    if (found == waiters.end()) continue;
    waiters.erase(found);
    return true;
  }
  return false;
}

bool Catalog::cancel(std::uint64_t wait_id) {
  const std::lock_guard lock(mutex_);
  return remove_waiter(wait_id);
}

// Excludes the last row while it may grow. If there is no memory, returns the rows next time.
std::vector<DamageRow> Catalog::take_final_damage() {
  if (!on_damage_ || damage_->empty()) return {};
  const std::size_t settled = std::max(reported_rows_, complete_ ? damage_->size() : damage_->size() - 1);
  try {
    std::vector<DamageRow> rows(damage_->begin() + static_cast<std::ptrdiff_t>(reported_rows_),
                                damage_->begin() + static_cast<std::ptrdiff_t>(settled));
    reported_rows_ = settled;
    return rows;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// Does not allocate.
Catalog::Waiters Catalog::take_reached() {
  Waiters ready;
  for (std::size_t i = 0; i < kSearchKeys; ++i) {
    auto& waiters = waiters_[i];
    while (!waiters.empty() && (failure_ || stopping_ || reached(static_cast<SearchKey>(i), waiters.begin()->first))) {
      ready.insert(waiters.extract(waiters.begin()));
    }
  }
  return ready;
}

// Reports new damage and resumes waiting requests, without the lock.
void Catalog::announce(std::unique_lock<std::mutex>& lock) {
  const std::vector<DamageRow> rows = take_final_damage();
  Waiters ready = take_reached();
  if (rows.empty() && ready.empty()) return;
  lock.unlock();
  report(rows);
  for (auto& [value, waiter] : ready) waiter.resume();
  ready.clear();
  lock.lock();
}

void Catalog::report(const std::vector<DamageRow>& rows) const {
  try {
    for (const DamageRow& row : rows) on_damage_(row);
  } catch (const std::bad_alloc&) {
    // Only log lines are lost.
  }
}

}  // namespace recordfs
