// DeferredCloser: a thread that closes what nobody uses. DeferredClosers: one such thread for each filesystem that may
// hang.
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

// Closing a container waits for the thread of its catalog, and the last user may be that thread. Closing a file can
// wait for its filesystem. So both are closed here. The thread starts with the first thing given to it, so after a
// fork.
class DeferredCloser {
 public:
  // `sweep` is called every `period` from then on, by the thread.
  DeferredCloser(std::chrono::milliseconds period, std::function<void()> sweep)
      : period_(period), sweep_(std::move(sweep)) {}
  // Closes what is left.
  ~DeferredCloser() { stop(); }
  DeferredCloser(const DeferredCloser&) = delete;
  DeferredCloser& operator=(const DeferredCloser&) = delete;

  // Starts the thread, if it does not run. Any thread.
  void wake();
  using Tasks = std::list<std::function<void()>>;
  // Calls all of `tasks` soon, and takes no memory for that. Any thread. Once it has stopped: now.
  void later(Tasks tasks);
  // Closes what is left and ends the thread.
  void stop();

 private:
  void run();
  void close_all(std::unique_lock<std::mutex>& lock);

  const std::chrono::milliseconds period_;
  const std::function<void()> sweep_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Tasks left_;
  bool stopping_ = false;
  std::thread thread_;
};

// Any thread.
class DeferredClosers {
 public:
  // `sweep` is called every `period` from the first of() on. It never waits for a filesystem that may hang.
  DeferredClosers(std::chrono::milliseconds period, std::function<void()> sweep)
      : period_(period), local_(std::make_shared<DeferredCloser>(period, std::move(sweep))) {}

  // The closer of a filesystem, as Source::filesystem() has it.
  std::shared_ptr<DeferredCloser> of(std::uint64_t filesystem);
  // Closes what is left and ends the threads.
  void stop();

 private:
  // Filesystems beyond these share the last one's thread.
  static constexpr std::size_t kMostFilesystems = 16;

  const std::chrono::milliseconds period_;
  const std::shared_ptr<DeferredCloser> local_;  // of filesystems that do not hang
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<DeferredCloser>> others_;
};

// Shares `thing`. When its last user lets go of it, `closer` destroys it, and that user goes on at once.
template <class Thing>
std::shared_ptr<Thing> closed_later(std::shared_ptr<DeferredCloser> closer, std::unique_ptr<Thing> thing) {
  closer->wake();
  // Allocated now: there may be no memory at the end, and nobody to report that to.
  const auto closing = std::make_shared<DeferredCloser::Tasks>();
  closing->push_back([last = thing.get()] { delete last; });
  return {thing.release(), [closer = std::move(closer), closing](Thing*) { closer->later(std::move(*closing)); }};
}

}  // namespace recordfs
