// What ends a mount: a time without requests (-o timeout), and the limit of a shutdown.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace recordfs {

// Tries to unmount when no request arrived for the whole timeout. Open files send no requests, but the kernel then
// refuses (EBUSY), and the time starts again. Not thread-safe.
class IdleEnd {
 public:
  // Tries to unmount, and returns whether it did.
  using Unmount = std::function<bool()>;

  static constexpr unsigned kTicks = 4;  // per timeout

  explicit IdleEnd(Unmount unmount) : unmount_(std::move(unmount)) {}

  // Call it kTicks times per timeout. `asked`: requests so far. `asked_now` returns that number again after an attempt
  // to unmount, which may itself cause requests.
  void tick(std::uint64_t asked, const std::function<std::uint64_t()>& asked_now);

 private:
  const Unmount unmount_;
  std::uint64_t asked_ = 0;
  unsigned idle_ticks_ = 0;
};

// Limits the duration of a shutdown.
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
