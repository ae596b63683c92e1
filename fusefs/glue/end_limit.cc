#include "fusefs/glue/end_limit.h"

#include "core/base/thread.h"

namespace recordfs {

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
