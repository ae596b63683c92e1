#include "fusefs/tree/mirror/closer.h"

#include <system_error>
#include <utility>

namespace recordfs {

// Without a thread, things are closed at the next try or in the end.
void Closer::wake() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable() || stopping_) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return;
  }
}

void Closer::later(Tasks tasks) {
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

void Closer::stop() {
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

void Closer::close_all(std::unique_lock<std::mutex>& lock) {
  while (!left_.empty()) {
    const auto closing = std::exchange(left_, {});
    lock.unlock();
    for (const auto& close : closing) close();
    lock.lock();
  }
}

void Closer::run() {
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

}  // namespace recordfs
