#include "fusefs/commands/range.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/store/toy_store.h"

namespace recordfs {
namespace {

Range ordinals(std::int64_t begin, std::optional<std::int64_t> end) { return OrdinalRange{begin, end}; }
Range one(std::int64_t ordinal) { return OrdinalRange{.begin = ordinal, .is_one = true}; }

TEST(Range, SelectsRecordsCountedFromEitherEnd) {
  EXPECT_EQ(parse_range("42"), one(42));
  EXPECT_EQ(parse_range("-3"), one(-3));
  EXPECT_EQ(parse_range("-1"), one(-1));
  EXPECT_EQ(parse_range("10:20"), ordinals(10, 20));
  EXPECT_EQ(parse_range(":100"), ordinals(0, 100));
  EXPECT_EQ(parse_range("-5:"), ordinals(-5, std::nullopt));
  EXPECT_EQ(parse_range("-5:-2"), ordinals(-5, -2));
  EXPECT_EQ(parse_range(":"), ordinals(0, std::nullopt));
  EXPECT_EQ(parse_range("@65536/3"), Range(RecordAddress{65536, 3}));
}

TEST(Range, AddressMayNameAShard) {
  EXPECT_EQ(parse_range("train-00017-of-00128.rec:@65536/3"),
            Range(RecordAddress{65536, 3, "train-00017-of-00128.rec"}));
  EXPECT_EQ(parse_range("17:@0/0"), Range(RecordAddress{0, 0, "17"}));
  EXPECT_EQ(parse_range("a:@1/2:@3/4"), Range(RecordAddress{3, 4, "a:@1/2"}));
  for (const char* text : {":@1/2", "x:@", "x:@1", "x:@1/", "x:@1/y", "x:@1/2 ", "x@1/2"}) {
    EXPECT_EQ(parse_range(text), std::nullopt) << text;
  }
}

TEST(Range, OtherTextIsNotARange) {
  for (const char* text : {"", "x", "1:x", "x:1", "1:2:3", "1 ", "+1", "@", "@1", "@/1", "@1/", "@-1/0", "1-2",
                           "9223372036854775807", "99999999999999999999", "0x10"}) {
    EXPECT_EQ(parse_range(text), std::nullopt) << text;
  }
}

TEST(Range, IsResolvedLikeAPythonSlice) {
  const testing::ToyStore toy({.chunks = 4, .records_per_chunk = 3});
  const auto span = [&](std::int64_t begin, std::optional<std::int64_t> end) {
    const auto resolved = resolve({begin, end}, *toy.store);
    EXPECT_TRUE(resolved);
    return std::pair(resolved->begin, resolved->end);
  };
  EXPECT_EQ(span(-5, std::nullopt), std::pair(std::uint64_t{7}, UINT64_MAX));
  EXPECT_EQ(span(-5, -2), std::pair(std::uint64_t{7}, std::uint64_t{10}));
  EXPECT_EQ(span(-100, 3), std::pair(std::uint64_t{0}, std::uint64_t{3}));
  EXPECT_EQ(span(5, 3), std::pair(std::uint64_t{5}, std::uint64_t{5}));
  EXPECT_EQ(span(INT64_MIN, 1), std::pair(std::uint64_t{0}, std::uint64_t{1}));
  const auto last = resolve({.begin = -1, .is_one = true}, *toy.store);
  ASSERT_TRUE(last);
  EXPECT_EQ(std::pair(last->begin, last->end), std::pair(std::uint64_t{11}, std::uint64_t{12}));
}

}  // namespace
}  // namespace recordfs
