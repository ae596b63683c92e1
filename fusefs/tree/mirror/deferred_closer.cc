#include "fusefs/tree/mirror/deferred_closer.h"

#include <utility>

#include "core/base/thread.h"

namespace recordfs {

// If the thread cannot be created, a later wake() or stop() takes care of the tasks.
void DeferredCloser::wake() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable() && !stopping_) thread_ = start_thread([this] { run(); });
}

void DeferredCloser::later(Tasks tasks) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      left_.splice(left_.end(), tasks);
      changed_.notify_one();
      return;
    }
  }
  for (const auto& close : tasks) close();
}

void DeferredCloser::stop() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  changed_.notify_one();
  if (thread_.joinable()) {
    lock.unlock();
    thread_.join();
    lock.lock();
  }
  close_all(lock);
}

void DeferredCloser::close_all(std::unique_lock<std::mutex>& lock) {
  while (!left_.empty()) {
    const auto closing = std::exchange(left_, {});
    lock.unlock();
    for (const auto& close : closing) close();
    lock.lock();
  }
}

void DeferredCloser::run() {
  std::unique_lock lock(mutex_);
  auto next_sweep = std::chrono::steady_clock::now() + period_;
  while (!stopping_) {
    changed_.wait_until(lock, next_sweep, [this] { return stopping_ || !left_.empty(); });
    close_all(lock);
    if (std::chrono::steady_clock::now() < next_sweep) continue;
    lock.unlock();
    sweep_();
    lock.lock();
    next_sweep = std::chrono::steady_clock::now() + period_;
  }
}

std::shared_ptr<DeferredCloser> DeferredClosers::of(std::uint64_t filesystem) {
  local_->wake();  // starts the sweeps
  if (filesystem == 0) return local_;
  const std::lock_guard lock(mutex_);
  if (const auto found = others_.find(filesystem); found != others_.end()) return found->second;
  if (others_.size() >= kMostFilesystems) return others_.rbegin()->second;
  return others_.emplace(filesystem, std::make_shared<DeferredCloser>(period_, [] {})).first->second;
}

void DeferredClosers::stop() {
  local_->stop();
  const std::lock_guard lock(mutex_);
  for (const auto& [filesystem, closer] : others_) closer->stop();
}

}  // namespace recordfs
