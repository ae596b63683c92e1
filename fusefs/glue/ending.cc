#include "fusefs/glue/ending.h"

#include "core/base/thread.h"

namespace recordfs {

void IdleEnd::tick(std::uint64_t asked, const std::function<std::uint64_t()>& asked_now) {
  if (asked != asked_) {
    asked_ = asked;
    idle_ticks_ = 0;
    return;
  }
  if (++idle_ticks_ < kTicks) return;
  static_cast<void>(unmount_());
  asked_ = asked_now();
  idle_ticks_ = 0;
}

EndLimit::~EndLimit() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EndLimit::begin() {
  const std::lock_guard lock(mutex_);
  if (!is_over_ && !thread_.joinable()) thread_ = start_thread([this] { run(); });
}

void EndLimit::run() {
  std::unique_lock lock(mutex_);
  if (over_.wait_for(lock, limit_, [this] { return is_over_; })) return;
  lock.unlock();
  overdue_();
}

}  // namespace recordfs
