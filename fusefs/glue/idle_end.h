// Unmounts after a time without requests (-o timeout).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

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

}  // namespace recordfs
