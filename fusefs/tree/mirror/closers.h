// Closers: threads that close unused objects.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/result.h"
#include "core/store/executor.h"

namespace recordfs {

// Each filesystem that may hang has a thread of its own. None starts before the first object, so that the process may
// still fork. Thread-safe, except for stop().
class Closers {
 public:
  // Calls `sweep` every `period`, on a thread that waits for no filesystem.
  Closers(std::chrono::milliseconds period, std::function<void()> sweep) : period_(period), sweep_(std::move(sweep)) {}
  ~Closers() { stop(); }
  Closers(const Closers&) = delete;
  Closers& operator=(const Closers&) = delete;

  // Starts the thread of a filesystem, and the sweeps. `filesystem` is a result of Source::filesystem(). Fails with
  // kOutOfMemory if the system provides no thread.
  Result<std::shared_ptr<Executor>> start(std::uint64_t filesystem);

  // Returns a shared pointer to `thing`, which the filesystem's thread destroys. A container's destructor joins its
  // catalog's thread, and the last user may be that thread. Closing a file can block on its filesystem. After stop(),
  // the last user destroys it. Fails as start() does.
  template <class Thing>
  Result<std::shared_ptr<Thing>> closed_later(std::uint64_t filesystem, std::unique_ptr<Thing> thing) {
    ASSIGN_OR_RETURN(auto closer, start(filesystem));
    // Allocated now, because the deleter could not report a failed allocation.
    const auto closing = std::make_shared<Executor::Task>([last = thing.get()] { delete last; });
    return std::shared_ptr<Thing>(thing.release(), [closer = std::move(closer), closing](Thing* last) {
      if (!closer->post(Executor::Priority::kWaitedFor, std::move(*closing))) delete last;
    });
  }

  // Closes what is unused, and ends the threads. May block on a filesystem that hangs.
  void stop();

 private:
  // Further filesystems share the thread of the last one.
  static constexpr std::size_t kMostFilesystems = 16;

  void run_sweeps();

  const std::chrono::milliseconds period_;
  const std::function<void()> sweep_;
  std::mutex mutex_;                                              // guards the following
  std::map<std::uint64_t, std::shared_ptr<Executor>> executors_;  // 0: of all filesystems that cannot hang
  bool is_ending_ = false;
  std::condition_variable ending_;
  std::thread sweeper_;
};

}  // namespace recordfs
