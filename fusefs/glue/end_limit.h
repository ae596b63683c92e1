// EndLimit: ends the process if its orderly end takes too long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace recordfs {

class EndLimit {
 public:
  // Calls `overdue` in a thread of its own if the object still exists `limit` after begin().
  EndLimit(std::chrono::milliseconds limit, std::function<void()> overdue)
      : limit_(limit), overdue_(std::move(overdue)) {}
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

  // The end has begun. Calls after the first have no effect. If the system gives no thread, there is no limit. Any
  // thread.
  void begin();

 private:
  void run();

  const std::chrono::milliseconds limit_;
  const std::function<void()> overdue_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace recordfs
