// DeferredCloser: a thread that closes unused objects. DeferredClosers: one such thread per filesystem that may hang.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace recordfs {

// A thread that destroys containers and files for other threads. A container's destructor joins its catalog's thread,
// and the last user may be that thread. Closing a file can block on its filesystem. wake() starts the thread, so that
// it can start after a fork.
class DeferredCloser {
 public:
  // The thread calls `sweep` every `period`.
  DeferredCloser(std::chrono::milliseconds period, std::function<void()> sweep)
      : period_(period), sweep_(std::move(sweep)) {}
  ~DeferredCloser() { stop(); }
  DeferredCloser(const DeferredCloser&) = delete;
  DeferredCloser& operator=(const DeferredCloser&) = delete;

  // Starts the thread unless it runs. If it cannot be started, tasks remain until a later wake() or stop().
  // Thread-safe.
  void wake();
  using Tasks = std::list<std::function<void()>>;
  // Queues `tasks` for the thread, without allocating memory. After stop(), runs them in the calling thread.
  // Thread-safe.
  void later(Tasks tasks);
  // Runs the remaining tasks and ends the thread. May block as long as they do.
  void stop();

 private:
  void run();
  void close_all(std::unique_lock<std::mutex>& lock);

  const std::chrono::milliseconds period_;
  const std::function<void()> sweep_;
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  Tasks left_;
  bool stopping_ = false;
  std::thread thread_;
};

// Thread-safe.
class DeferredClosers {
 public:
  // The first of() starts a thread that calls `sweep` every `period`. It never waits for a filesystem that may hang.
  DeferredClosers(std::chrono::milliseconds period, std::function<void()> sweep)
      : period_(period), local_(std::make_shared<DeferredCloser>(period, std::move(sweep))) {}

  // Returns the closer of a filesystem. `filesystem` is a result of Source::filesystem().
  std::shared_ptr<DeferredCloser> of(std::uint64_t filesystem);
  // Runs the remaining tasks and ends the threads. May block on a filesystem that hangs.
  void stop();

 private:
  // Further filesystems share the thread of one of these.
  static constexpr std::size_t kMostFilesystems = 16;

  const std::chrono::milliseconds period_;
  const std::shared_ptr<DeferredCloser> local_;  // of all filesystems that cannot hang
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<DeferredCloser>> others_;
};

// Returns a shared pointer to `thing`, which `closer` destroys. Releasing the last reference does not block.
template <class Thing>
std::shared_ptr<Thing> closed_later(std::shared_ptr<DeferredCloser> closer, std::unique_ptr<Thing> thing) {
  closer->wake();
  // Allocated now, because the deleter could not report a failed allocation.
  const auto closing = std::make_shared<DeferredCloser::Tasks>();
  closing->push_back([last = thing.get()] { delete last; });
  return {thing.release(), [closer = std::move(closer), closing](Thing*) { closer->later(std::move(*closing)); }};
}

}  // namespace recordfs
