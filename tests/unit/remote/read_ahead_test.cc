// What is requested before it is read.
#include "core/remote/read_ahead.h"

#include <gtest/gtest.h>

namespace recordfs::testing {
namespace {

using remote::kBlock;
using remote::ReadAhead;

constexpr std::uint64_t kMemory = 64u << 20;
constexpr std::uint64_t kSize = 1u << 30;
constexpr std::uint64_t kStep = 384u << 10;
constexpr ReadAhead::Memory kBoth{.blocks = kMemory, .passes = 2 * kMemory};

TEST(ReadAhead, SingleReadsRequestNothingMore) {
  ReadAhead ahead(kBoth);
  for (const std::uint64_t at : {100u << 20, 300u << 20, 10u << 20, 700u << 20, 500u << 20}) {
    EXPECT_TRUE(ahead.note(at, at + 1000, kSize).is_empty());
  }
}

TEST(ReadAhead, ReaderGetsAheadOfItselfWithoutGapsAndOnce) {
  ReadAhead ahead(kBoth);
  std::uint64_t requested = 0;
  for (std::uint64_t at = 0; at < kSize; at += kStep) {
    const auto range = ahead.note(at, std::min(at + kStep, kSize), kSize);
    if (range.is_empty()) continue;
    if (requested != 0) {
      EXPECT_EQ(range.begin, requested);
    }
    EXPECT_EQ(range.begin % kBlock, 0u);
    EXPECT_LE(range.end, at + kStep + kMemory / 2);
    requested = range.end;
  }
  EXPECT_EQ(requested, kSize);
}

TEST(ReadAhead, ExpectedReaderGetsAheadInProportionToWhatItHasRead) {
  ReadAhead ahead(kBoth);
  ahead.expect_all();
  bool has_begun = false;
  for (std::uint64_t at = 0; at < 8u << 20; at += kStep) {
    const auto range = ahead.note(at, at + kStep, kSize);
    if (!range.is_empty()) {
      EXPECT_LE(range.end, 5 * (at + kStep));
    }
    has_begun |= !range.is_empty();
    if (at >= 2 * kStep) {
      EXPECT_TRUE(has_begun);
    }
  }
}

TEST(ReadAhead, PartsOfAServerThatIsFarAwayAreLarger) {
  for (const bool is_far : {false, true}) {
    ReadAhead ahead(kBoth, is_far);
    ahead.expect_all();
    std::uint64_t largest = 0;
    for (std::uint64_t at = 0; at < kSize / 8; at += kStep) {
      const auto range = ahead.note(at, at + kStep, kSize);
      if (!range.is_empty()) largest = std::max(largest, range.part);
    }
    EXPECT_EQ(largest, is_far ? 8u << 20 : 1u << 20);
  }
}

TEST(ReadAhead, PassOverAllBeginsWithAWindowOfGrowingParts) {
  ReadAhead ahead(kBoth, true);
  ahead.begin_pass(0);
  const auto range = ahead.note(0, 0, kSize);
  EXPECT_EQ(range.begin, 0u);
  EXPECT_EQ(range.end, 96u << 20);
  EXPECT_GT(range.growth, 0u);
  EXPECT_LT(range.part, range.largest);
  EXPECT_EQ(range.largest, 8u << 20);
  const auto next = ahead.note(0, range.part, kSize);
  EXPECT_TRUE(next.is_empty());  // less than a part of the largest size
  const auto later = ahead.note(range.part, range.largest, kSize);
  EXPECT_EQ(later.begin, range.end);
  EXPECT_EQ(later.end, range.end + range.largest);
  EXPECT_EQ(later.growth, 0u);
}

TEST(ReadAhead, RangeThatWasNotRequestedIsReturnedAgain) {
  ReadAhead ahead(kBoth, true);
  ahead.begin_pass(0);
  const auto range = ahead.note(0, 0, kSize);
  ahead.was_cut(range, 16u << 20);
  const auto again = ahead.note(0, kStep, kSize);
  EXPECT_EQ(again.begin, 16u << 20);
  EXPECT_GE(again.end, range.end);
  EXPECT_TRUE(ahead.note(kStep, 2 * kStep, kSize).is_empty());
}

TEST(ReadAhead, PassWithoutRoomStaysWithinHalfOfTheCache) {
  ReadAhead ahead(kBoth, true);
  ahead.begin_pass(0);
  EXPECT_EQ(ahead.note(0, 0, kSize, 0).end, kMemory / 2);
  const auto later = ahead.note(0, 16u << 20, kSize, 0);
  EXPECT_EQ(later.begin, kMemory / 2);
  EXPECT_EQ(later.end, (16u << 20) + kMemory / 2);
  EXPECT_TRUE(ahead.note(16u << 20, (16u << 20) + kStep, kSize, 0).is_empty());
  // As far as there is room again.
  EXPECT_EQ(ahead.note(16u << 20, 17u << 20, kSize, 24u << 20).end, later.end + (24u << 20));
  EXPECT_EQ(ahead.note(17u << 20, 18u << 20, kSize).end, (18u << 20) + (96u << 20));
}

TEST(ReadAhead, SmallMemoryBoundsTheWindow) {
  constexpr std::uint64_t kSmall = 2u << 20;
  ReadAhead ahead({kSmall, kSmall});
  for (std::uint64_t at = 0; at < kSize / 8; at += kStep) {
    const auto range = ahead.note(at, at + kStep, kSize);
    if (!range.is_empty()) {
      EXPECT_LE(range.end - (at + kStep), kSmall / 2);
    }
  }
}

TEST(ReadAhead, ReadersThatAlternateAreBothRecognized) {
  ReadAhead ahead(kBoth);
  bool first = false;
  bool second = false;
  for (std::uint64_t at = 0; at < 16u << 20; at += kStep) {
    first |= !ahead.note(at, at + kStep, kSize).is_empty();
    second |= !ahead.note(at + kSize / 2, at + kSize / 2 + kStep, kSize).is_empty();
  }
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}

}  // namespace
}  // namespace recordfs::testing
