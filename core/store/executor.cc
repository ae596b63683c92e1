#include "core/store/executor.h"

#include <new>
#include <system_error>
#include <utility>

namespace recordfs {

bool start_thread(const std::function<void()>& start) {
  try {
    start();
    return true;
  } catch (const std::system_error&) {
    // std::thread reports a lack of threads only in this way.
  } catch (const std::bad_alloc&) {
    // Likewise.
  }
  return false;
}

void Executor::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

bool Executor::start() {
  const std::lock_guard lock(mutex_);
  return !threads_.empty() || has_thread();
}

// Starts one more thread, up to the limit. Returns false if there is none at all.
bool Executor::has_thread() {
  if (threads_.size() < wanted_threads_) start_thread([this] { threads_.emplace_back([this] { run(); }); });
  return !threads_.empty();
}

bool Executor::post(Priority priority, Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || (priority == Priority::kAhead && ahead_.size() >= kMaxAhead)) return false;
    if (!has_thread()) return false;
    auto& queue = priority == Priority::kWaitedFor ? waited_for_ : ahead_;
    queue.splice(queue.end(), task.one_);
  }
  wake_.notify_one();
  return true;
}

void Executor::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !waited_for_.empty() || may_go_ahead() || (stopping_ && ahead_.empty()); });
    const bool ahead = waited_for_.empty();
    auto& queue = ahead ? ahead_ : waited_for_;
    if (queue.empty()) return;
    std::function<void()> task = std::move(queue.front());
    queue.pop_front();
    if (ahead) ++going_ahead_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    if (!ahead) continue;
    --going_ahead_;
    // Other threads may have slept because of this task. Wake them to exit.
    if (stopping_) wake_.notify_all();
  }
}

}  // namespace recordfs
