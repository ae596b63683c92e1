// Unmounts a mount that nobody uses (-o timeout).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace recordfs {

// Told how many requests there were, a few times in the timeout: when there were no more for all of it, tries to
// unmount. A mount on which something is open, or somebody's current directory, stays: the kernel then says that it is
// busy, and the time begins anew. (open is never sent to us: nobody else knows.) One thread.
class IdleEnd {
 public:
  // Tries to unmount. False: it is in use, or can't be unmounted.
  using Unmount = std::function<bool()>;

  static constexpr unsigned kTicks = 4;  // in the timeout

  explicit IdleEnd(Unmount unmount) : unmount_(std::move(unmount)) {}

  // `asked` never falls. `asked_now` tells it again after a try to unmount, which may send requests itself.
  void tick(std::uint64_t asked, const std::function<std::uint64_t()>& asked_now);

 private:
  const Unmount unmount_;
  std::uint64_t asked_ = 0;
  unsigned idle_ticks_ = 0;
};

}  // namespace recordfs
