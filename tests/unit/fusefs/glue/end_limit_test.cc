#include "fusefs/glue/session.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/unit/support/signal.h"

namespace recordfs::testing {
namespace {

using namespace std::chrono_literals;

TEST(EndLimit, RegularEndIsNotOverdue) {
  bool is_overdue = false;
  {
    EndLimit limit(1h, [&] { is_overdue = true; });
    limit.begin();
    limit.begin();
  }
  EXPECT_FALSE(is_overdue);
}

TEST(EndLimit, EndThatDoesNotCompleteIsOverdue) {
  const Signal overdue;
  EndLimit limit(1ms, [overdue] { overdue.set(); });
  limit.begin();
  overdue.wait();
}

TEST(EndLimit, NothingIsOverdueBeforeTheEndBegins) {
  bool is_overdue = false;
  {
    const EndLimit limit(0ms, [&] { is_overdue = true; });
  }
  EXPECT_FALSE(is_overdue);
}

}  // namespace
}  // namespace recordfs::testing
