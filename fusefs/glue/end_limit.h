// EndLimit: limits the duration of a shutdown.
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
  // Calls `overdue` on a separate thread if the object still exists `limit` after begin().
  EndLimit(std::chrono::milliseconds limit, std::function<void()> overdue)
      : limit_(limit), overdue_(std::move(overdue)) {}
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

  // Starts the time once. No limit applies if the system provides no thread. Thread-safe.
  void begin();

 private:
  void run();

  const std::chrono::milliseconds limit_;
  const std::function<void()> overdue_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace recordfs
