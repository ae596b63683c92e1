#include "core/fetch/retry.h"

#include <gtest/gtest.h>

namespace recordfs::fetch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RetryDelay, DoublesUpToALimit) {
  EXPECT_EQ(retry_delay(1, 200), milliseconds(200));
  EXPECT_EQ(retry_delay(2, 400), milliseconds(400));
  EXPECT_EQ(retry_delay(3, 800), milliseconds(800));
  EXPECT_EQ(retry_delay(1000, 10'000), milliseconds(10'000));
}

TEST(RetryDelay, AnythingBelowTheLongestIsAsLikely) {
  EXPECT_EQ(retry_delay(1, 0), milliseconds(0));
  EXPECT_EQ(retry_delay(1, 201), milliseconds(0));
  EXPECT_EQ(retry_delay(3, 17), milliseconds(17));
  for (std::uint64_t random = 0; random < 5000; random += 7) EXPECT_LE(retry_delay(2, random), milliseconds(400));
}

TEST(RetryAfter, SecondsAndDatesAreUnderstood) {
  EXPECT_EQ(retry_after("3", ""), seconds(3));
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:49:47 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"), seconds(10));
  EXPECT_EQ(retry_after("Sun, 06 Nov 1994 08:49:27 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"), seconds(0));
}

TEST(RetryAfter, OtherTextsAreIgnoredAndLongTimesBounded) {
  EXPECT_FALSE(retry_after("", ""));
  EXPECT_FALSE(retry_after("soon", "Sun, 06 Nov 1994 08:49:37 GMT"));
  EXPECT_FALSE(retry_after("-1", ""));
  EXPECT_FALSE(retry_after("Sun, 06 Nov 1994 08:49:47 GMT", ""));
  EXPECT_EQ(retry_after("18446744073709551615", ""), seconds(24 * 60 * 60));
}

}  // namespace
}  // namespace recordfs::fetch
