#include "core/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace recordfs {
namespace {

TEST(Result, HoldsAValue) {
  Result<int> result = 7;
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, 7);
  EXPECT_EQ(result.value(), 7);
  EXPECT_EQ(result.value_or(3), 7);
}

TEST(Result, HoldsAnError) {
  const Result<int> result = Error{Code::kLimit, 5, "too large"};
  ASSERT_FALSE(result.has_value());
  EXPECT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(result.error().code, Code::kLimit);
  EXPECT_EQ(result.error().position, 5u);
  EXPECT_EQ(result.value_or(3), 3);
}

TEST(Result, ValueCanBeMovedOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> out = std::move(result).value();
  ASSERT_TRUE(out);
  EXPECT_EQ(*out, 7);
}

TEST(Result, ErrorCanBeMovedOut) {
  Result<std::string> first = Error{Code::kIo, 9, "cannot read", 5};
  const Result<int> second = std::move(first).error();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().os_error, 5);
  EXPECT_EQ(second.error().detail, "cannot read");
}

TEST(Result, VoidResultIsSuccessUnlessItHasAnError) {
  const Result<void> good;
  EXPECT_TRUE(good);
  const Result<void> bad = Error{Code::kDamage, 1, "bad"};
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().position, 1u);
}

TEST(Error, TextContainsThePositionAndTheReason) {
  EXPECT_EQ(to_string(Error{Code::kDamage, 65536, "chunk header hash mismatch"}),
            "byte 65536: chunk header hash mismatch");
}

TEST(Code, EachCodeHasItsOwnName) {
  std::set<std::string_view> words;
  int codes = 0;
  for (int code = 0; code <= static_cast<int>(Code::kOutOfMemory); ++code, ++codes) {
    const auto word = to_string(static_cast<Code>(code));
    EXPECT_FALSE(word.empty());
    EXPECT_NE(word, "unknown");
    words.insert(word);
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(codes));
}

TEST(Code, RetryMayHelpUnlessTheCauseIsInTheBytes) {
  for (const Code code : {Code::kDamage, Code::kUnfinished, Code::kStale, Code::kUnsupported, Code::kLimit}) {
    EXPECT_TRUE(is_permanent(code)) << to_string(code);
  }
  for (const Code code : {Code::kNoContainer, Code::kNotFound, Code::kPending, Code::kInterrupted, Code::kChanged,
                          Code::kIo, Code::kOutOfMemory}) {
    EXPECT_FALSE(is_permanent(code)) << to_string(code);
  }
}

}  // namespace
}  // namespace recordfs
