// Numbers of things in messages.
#include "core/base/counted.h"

#include <gtest/gtest.h>

namespace recordfs {
namespace {

TEST(Counted, CountOfOneIsSingular) { EXPECT_EQ(counted(1, "record"), "1 record"); }

TEST(Counted, OtherCountsArePlural) {
  EXPECT_EQ(counted(0, "record"), "0 records");
  EXPECT_EQ(counted(2, "stored byte"), "2 stored bytes");
  EXPECT_EQ(counted(UINT64_MAX, "byte"), "18446744073709551615 bytes");
}

}  // namespace
}  // namespace recordfs
