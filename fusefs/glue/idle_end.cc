#include "fusefs/glue/idle_end.h"

namespace recordfs {

void IdleEnd::tick(std::uint64_t asked, const std::function<std::uint64_t()>& asked_now) {
  if (asked != asked_) {
    asked_ = asked;
    idle_ticks_ = 0;
    return;
  }
  if (++idle_ticks_ < kTicks) return;
  static_cast<void>(unmount_());
  asked_ = asked_now();
  idle_ticks_ = 0;
}

}  // namespace recordfs
