#include "core/base/cursor.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/unit/support/guarded.h"

namespace recordfs {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<std::byte> encode(std::uint64_t value) {
  std::vector<std::byte> bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>(value | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// Encodes the same varint in `length` bytes.
std::vector<std::byte> pad(std::vector<std::byte> bytes, std::size_t length) {
  while (bytes.size() < length) {
    bytes.back() |= std::byte{0x80};
    bytes.push_back(std::byte{0});
  }
  return bytes;
}

TEST(Cursor, ReadsFixedIntegersOfBothByteOrders) {
  const auto bytes = bytes_of({0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x88});
  EXPECT_EQ(Cursor(bytes).u8(), 0x01);
  EXPECT_EQ(Cursor(bytes).u16_le(), 0x0201);
  EXPECT_EQ(Cursor(bytes).u32_le(), 0x04030201u);
  EXPECT_EQ(Cursor(bytes).u32_be(), 0x01020304u);
  EXPECT_EQ(Cursor(bytes).u64_le(), 0x8807060504030201u);
  EXPECT_EQ(Cursor(bytes).u64_be(), 0x0102030405060788u);
}

TEST(Cursor, PositionAdvancesByTheBytesRead) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5});
  Cursor cursor(bytes);
  EXPECT_EQ(cursor.u8(), 1);
  EXPECT_EQ(cursor.offset(), 1u);
  EXPECT_EQ(cursor.remaining(), 4u);
  cursor.skip(2);
  EXPECT_EQ(cursor.rest().size(), 2u);
  EXPECT_EQ(cursor.u16_le(), 0x0504);
  EXPECT_TRUE(cursor.at_end());
  EXPECT_TRUE(cursor.ok());
}

TEST(Cursor, FixedIntegerOneByteShortOfTheEndFails) {
  for (std::size_t size = 0; size < 8; ++size) {
    const testing::Guarded bytes(size);
    const auto ok_after = [&](auto read) {
      Cursor cursor(bytes.view());
      read(cursor);
      return cursor.ok();
    };
    EXPECT_EQ(ok_after([](Cursor& c) { return c.u8(); }), size >= 1);
    EXPECT_EQ(ok_after([](Cursor& c) { return c.u16_le(); }), size >= 2);
    EXPECT_EQ(ok_after([](Cursor& c) { return c.u32_le(); }), size >= 4);
    EXPECT_EQ(ok_after([](Cursor& c) { return c.u32_be(); }), size >= 4);
    EXPECT_FALSE(ok_after([](Cursor& c) { return c.u64_le(); }));
    EXPECT_FALSE(ok_after([](Cursor& c) { return c.u64_be(); }));
  }
}

TEST(Cursor, FirstFailureIsKept) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5});
  Cursor cursor(bytes);
  cursor.u16_le();
  EXPECT_EQ(cursor.u32_le(), 0u);
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.offset(), 2u);
  EXPECT_EQ(cursor.u8(), 0);
  EXPECT_EQ(cursor.varint64(), 0u);
  EXPECT_TRUE(cursor.take(0).empty());
  EXPECT_TRUE(cursor.rest().empty());
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.offset(), 2u);
  EXPECT_FALSE(cursor.ok());
}

TEST(Cursor, CallerCanSetAFailure) {
  const auto bytes = bytes_of({1, 2});
  Cursor cursor(bytes);
  cursor.fail();
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.u8(), 0);
}

TEST(Cursor, TakesBytesUpToTheEndButNotBeyond) {
  const auto bytes = bytes_of({1, 2, 3});
  Cursor whole(bytes);
  EXPECT_EQ(whole.take(3).size(), 3u);
  EXPECT_TRUE(whole.take(0).empty());
  EXPECT_TRUE(whole.ok());
  Cursor beyond(bytes);
  EXPECT_TRUE(beyond.take(4).empty());
  EXPECT_FALSE(beyond.ok());
}

TEST(Cursor, TakingTheLargestSizeFails) {
  const auto bytes = bytes_of({1, 2, 3});
  Cursor cursor(bytes);
  cursor.u8();
  EXPECT_TRUE(cursor.take(std::numeric_limits<std::uint64_t>::max()).empty());
  EXPECT_FALSE(cursor.ok());
}

TEST(Cursor, EmptyCursorIsAtItsEndWithoutFailure) {
  Cursor cursor({});
  EXPECT_TRUE(cursor.at_end());
  EXPECT_TRUE(cursor.ok());
  EXPECT_EQ(cursor.varint32(), 0u);
  EXPECT_FALSE(cursor.ok());
}

TEST(Varint, EachLengthReadsItsSmallestAndLargestValue) {
  std::vector<std::uint64_t> values = {0, 1, std::numeric_limits<std::uint64_t>::max()};
  for (int bits = 7; bits < 64; bits += 7) {
    values.push_back((std::uint64_t{1} << bits) - 1);
    values.push_back(std::uint64_t{1} << bits);
  }
  values.push_back(std::numeric_limits<std::uint32_t>::max());
  for (const std::uint64_t value : values) {
    const testing::Guarded bytes{Bytes(encode(value))};
    Cursor cursor(bytes.view());
    EXPECT_EQ(cursor.varint64(), value);
    EXPECT_TRUE(cursor.ok());
    EXPECT_TRUE(cursor.at_end());
  }
}

TEST(Varint, ThirtyTwoBitVarintReadsTheLargestValueAndRefusesTheNext) {
  const auto largest = encode(0xFFFFFFFF);
  Cursor good(largest);
  EXPECT_EQ(good.varint32(), 0xFFFFFFFFu);
  EXPECT_TRUE(good.ok());
  const auto next = encode(0x100000000);
  Cursor bad(next);
  EXPECT_EQ(bad.varint32(), 0u);
  EXPECT_FALSE(bad.ok());
}

TEST(Varint, SixtyFourBitVarintRefusesATenthByteAboveOne) {
  auto bytes = encode(std::numeric_limits<std::uint64_t>::max());
  ASSERT_EQ(bytes.size(), 10u);
  bytes.back() = std::byte{2};
  Cursor cursor(bytes);
  EXPECT_EQ(cursor.varint64(), 0u);
  EXPECT_FALSE(cursor.ok());
}

TEST(Varint, PaddedEncodingsUpToTheLongestAreAccepted) {
  for (std::size_t length = 1; length <= 10; ++length) {
    const auto bytes = pad(encode(5), length);
    Cursor wide(bytes);
    EXPECT_EQ(wide.varint64(), 5u);
    EXPECT_TRUE(wide.ok());
    EXPECT_EQ(wide.offset(), length);
    Cursor narrow(bytes);
    EXPECT_EQ(narrow.varint32(), length <= 5 ? 5u : 0u);
    EXPECT_EQ(narrow.ok(), length <= 5);
  }
}

TEST(Varint, OverlongEncodingFails) {
  const auto bytes = pad(encode(5), 11);
  Cursor cursor(bytes);
  EXPECT_EQ(cursor.varint64(), 0u);
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.offset(), 0u);
}

TEST(Varint, TruncatedEncodingFails) {
  const auto whole = encode(std::numeric_limits<std::uint64_t>::max());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const testing::Guarded bytes(Bytes(whole).first(size));
    Cursor cursor(bytes.view());
    EXPECT_EQ(cursor.varint64(), 0u);
    EXPECT_FALSE(cursor.ok()) << size;
  }
}

TEST(Varint, FollowingBytesAreNotConsumed) {
  const auto bytes = bytes_of({0x96, 0x01, 0x2A});
  Cursor cursor(bytes);
  EXPECT_EQ(cursor.varint32(), 150u);
  EXPECT_EQ(cursor.u8(), 0x2A);
  EXPECT_TRUE(cursor.ok());
}

}  // namespace
}  // namespace recordfs
