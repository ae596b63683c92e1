#include "core/store/background_work.h"

#include <algorithm>
#include <limits>

#include "core/base/request_context.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace recordfs {

void BackgroundWork::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
}

void BackgroundWork::start() {
  std::thread finished;
  {
    const std::lock_guard lock(mutex_);
    finished = start_next();
  }
  if (finished.joinable()) finished.join();
}

// Returns the previous thread, which the caller joins after unlocking. REQUIRES: mutex_ is locked.
std::thread BackgroundWork::start_next() {
  if (running_ || stopping_) return {};
  failure_.reset();
  auto finished = std::exchange(thread_, start_thread([this] { run(); }));
  running_ = thread_.joinable();
  return finished;
}

std::uint64_t BackgroundWork::wait(const WaitTicket& ticket, std::function<void()> resume) {
  std::thread finished;
  std::uint64_t wait_id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (has_reached(ticket.search_key, ticket.value) || failure_ || stopping_) return 0;
    const auto waiter =
        waiters_.emplace(std::pair(ticket.search_key, ticket.value), Waiter{next_wait_id_, std::move(resume)});
    finished = start_next();
    if (running_) {
      wait_id = next_wait_id_++;
    } else {
      waiters_.erase(waiter);
      failure_ = out_of_memory("no threads");
    }
  }
  if (finished.joinable()) finished.join();
  return wait_id;
}

bool BackgroundWork::cancel(std::uint64_t wait_id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(waiters_, wait_id, [](const auto& waiter) { return waiter.second.wait_id; });
  if (found == waiters_.end()) return false;
  waiters_.erase(found);
  return true;
}

Error BackgroundWork::failure_or_pending(SearchKey search_key, std::uint64_t value) {
  if (failure_) return *std::exchange(failure_, std::nullopt);
  return pending("not scanned yet", {.waitable = this, .search_key = search_key, .value = value});
}

void BackgroundWork::run() {
  const RequestContext context(cancelled_);
  Lock lock(mutex_);
  Result<void> outcome;
  do {
    outcome = out_of_memory("no memory");
    // The requests that wait get a failure. A retry may find memory.
    has_memory_for([&] { outcome = work(context, lock); });
    if (!lock.owns_lock()) lock.lock();
    if (outcome) resume_waiters(lock);
    // A request may have begun to wait when the work had just ended.
  } while (outcome && has_waiters() && !stopping_);
  running_ = false;
  // If no request waits, the next one continues the work.
  if (!outcome && !waiters_.empty()) failure_ = std::move(outcome).error();
  resume_waiters(lock);
}

// Does not allocate memory.
void BackgroundWork::resume_waiters(Lock& lock) {
  decltype(waiters_) ready;
  for (auto at = waiters_.begin(); at != waiters_.end();) {
    const auto [search_key, value] = at->first;
    if (failure_ || stopping_ || has_reached(search_key, value)) {
      ready.insert(waiters_.extract(at++));
    } else {
      at = waiters_.upper_bound({search_key, std::numeric_limits<std::uint64_t>::max()});
    }
  }
  if (ready.empty()) return;
  lock.unlock();
  for (const auto& [ticket, waiter] : ready) waiter.resume();
  ready.clear();
  lock.lock();
}

}  // namespace recordfs
