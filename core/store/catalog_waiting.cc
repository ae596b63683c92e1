// Catalog: who waits for the walk, and is told what it brings.
#include <algorithm>
#include <new>
#include <utility>

#include "core/store/catalog.h"

namespace recordfs {

std::uint64_t Catalog::wait(const Goal& goal, std::function<void()> resume) {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    if (reached(goal.coordinate, goal.value) || failure_ || stopping_) return 0;
    ticket = next_ticket_++;
    waiters_[static_cast<std::size_t>(goal.coordinate)].emplace(goal.value, Waiter{ticket, std::move(resume)});
  }
  start();
  const std::lock_guard lock(mutex_);
  const bool stands_still = failure_ && !running_;
  return stands_still && remove_waiter(ticket) ? 0 : ticket;
}

bool Catalog::remove_waiter(std::uint64_t ticket) {
  for (auto& waiters : waiters_) {
    const auto found = std::ranges::find(waiters, ticket, [](const auto& waiter) { return waiter.second.ticket; });
    if (found == waiters.end()) continue;
    waiters.erase(found);
    return true;
  }
  return false;
}

bool Catalog::cancel(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  return remove_waiter(ticket);
}

// The last row may grow as long as the walk goes on. Where there is no memory for them, they come with the next.
std::vector<DamageRow> Catalog::take_settled() {
  if (!on_damage_ || damage_->empty()) return {};
  const std::size_t settled = std::max(told_, complete_ ? damage_->size() : damage_->size() - 1);
  try {
    std::vector<DamageRow> rows(damage_->begin() + static_cast<std::ptrdiff_t>(told_),
                                damage_->begin() + static_cast<std::ptrdiff_t>(settled));
    told_ = settled;
    return rows;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// Takes no memory: they move as they are.
Catalog::Waiters Catalog::take_reached() {
  Waiters ready;
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    auto& waiters = waiters_[i];
    while (!waiters.empty() && (failure_ || stopping_ || reached(static_cast<Coordinate>(i), waiters.begin()->first))) {
      ready.insert(waiters.extract(waiters.begin()));
    }
  }
  return ready;
}

// Tells what the walk has brought, without the lock.
void Catalog::announce(std::unique_lock<std::mutex>& lock) {
  const std::vector<DamageRow> rows = take_settled();
  Waiters ready = take_reached();
  if (rows.empty() && ready.empty()) return;
  lock.unlock();
  tell(rows);
  for (auto& [value, waiter] : ready) waiter.resume();
  ready.clear();
  lock.lock();
}

void Catalog::tell(const std::vector<DamageRow>& rows) const {
  try {
    for (const DamageRow& row : rows) on_damage_(row);
  } catch (const std::bad_alloc&) {
    // Lines of the log: the table has them.
  }
}

}  // namespace recordfs
