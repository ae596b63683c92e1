#include "fusefs/glue/session.h"

#include <gtest/gtest.h>

namespace recordfs {
namespace {

class Idle {
 public:
  explicit Idle(bool in_use) : in_use_(in_use) {}
  void ticks(unsigned number) {
    for (unsigned i = 0; i < number; ++i) {
      end_.tick(asked, [this] { return asked; });
    }
  }
  std::uint64_t asked = 0;
  unsigned tries = 0;

 private:
  const bool in_use_;
  IdleEnd end_{[this] {
    ++tries;
    if (in_use_) ++asked;  // as if fusermount3 looked at the mount
    return !in_use_;
  }};
};

TEST(IdleEnd, ComesAfterTheTimeoutWithoutRequests) {
  Idle idle(false);
  idle.ticks(IdleEnd::kTicks - 1);
  EXPECT_EQ(idle.tries, 0u);
  idle.ticks(1);
  EXPECT_EQ(idle.tries, 1u);
}

TEST(IdleEnd, EachRequestRestartsTheTimeout) {
  Idle idle(false);
  for (int i = 0; i < 10; ++i) {
    idle.ticks(IdleEnd::kTicks - 1);
    ++idle.asked;
    idle.ticks(1);
  }
  EXPECT_EQ(idle.tries, 0u);
  idle.ticks(IdleEnd::kTicks);
  EXPECT_EQ(idle.tries, 1u);
}

TEST(IdleEnd, RetriesIfTheMountIsInUse) {
  Idle idle(true);
  idle.ticks(3 * IdleEnd::kTicks);
  EXPECT_EQ(idle.tries, 3u) << "requests of the attempt itself do not count";
}

}  // namespace
}  // namespace recordfs
