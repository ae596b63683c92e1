#include "core/base/result.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace recordfs {
namespace {

Result<int> parse(int number) {
  if (number < 0) return Error{Code::kDamage, 3, "negative"};
  return number;
}

Result<void> check(int number) {
  TRY(parse(number));
  return {};
}

TEST(Try, EvaluatesItsExpressionOnce) {
  int calls = 0;
  const auto count = [&]() -> Result<void> {
    ++calls;
    return {};
  };
  const auto run = [&]() -> Result<void> {
    TRY(count());
    return {};
  };
  EXPECT_TRUE(run());
  EXPECT_EQ(calls, 1);
}

TEST(Try, IsOneStatement) {
  const auto run = [](bool first) -> Result<int> {
    if (first)
      TRY(parse(-1));
    else
      return 1;
    return 2;
  };
  EXPECT_FALSE(run(true));
  EXPECT_EQ(run(false).value_or(0), 1);
}

TEST(Try, WorksInsideALambdaInItsOwnExpression) {
  const auto each = [](const auto& visit) -> Result<void> {
    TRY(visit(1));
    TRY(visit(-1));
    return {};
  };
  int seen = 0;
  const auto run = [&]() -> Result<void> {
    TRY(each([&](int number) -> Result<void> {
      ASSIGN_OR_RETURN(const auto parsed, parse(number));
      TRY(check(parsed));
      seen += parsed;
      return {};
    }));
    return {};
  };
  EXPECT_FALSE(run());
  EXPECT_EQ(seen, 1);
}

TEST(Try, CopiesTheErrorOfAResultThatIsKept) {
  Result<void> kept = Error{Code::kIo, 9, "cannot read", 5};
  const auto run = [&]() -> Result<int> {
    TRY(kept);
    return 1;
  };
  EXPECT_EQ(run().error().detail, "cannot read");
  EXPECT_EQ(kept.error().detail, "cannot read");
}

TEST(AssignOrReturn, CopiesTheValueOfAResultThatIsKept) {
  Result<std::string> kept = std::string("a text that is too long to be stored in place");
  const auto run = [&]() -> Result<std::size_t> {
    ASSIGN_OR_RETURN(const auto text, kept);
    return text.size();
  };
  EXPECT_EQ(run().value_or(0), kept->size());
  EXPECT_FALSE(kept->empty());
}

TEST(AssignOrReturn, AReferenceStaysValid) {
  const auto run = []() -> Result<std::string> {
    ASSIGN_OR_RETURN(const auto& text, Result<std::string>("a text that is too long to be stored in place"));
    return text + "!";
  };
  EXPECT_EQ(run().value_or(""), "a text that is too long to be stored in place!");
}

TEST(AssignOrReturn, AReferenceToAResultThatIsKeptChangesIt) {
  Result<int> kept = 7;
  const auto run = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(auto& value, kept);
    value = 8;
    return {};
  };
  EXPECT_TRUE(run());
  EXPECT_EQ(*kept, 8);
}

TEST(AssignOrReturn, HoldsAReferenceWrapper) {
  int target = 7;
  const auto run = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(int& value, Result<std::reference_wrapper<int>>(target));
    value = 8;
    return {};
  };
  EXPECT_TRUE(run());
  EXPECT_EQ(target, 8);
}

TEST(AssignOrReturn, AssignsToAnExistingVariable) {
  int value = 1;
  const auto run = [&](int number) -> Result<void> {
    ASSIGN_OR_RETURN(value, parse(number));
    return {};
  };
  EXPECT_TRUE(run(7));
  EXPECT_EQ(value, 7);
  EXPECT_FALSE(run(-7));
  EXPECT_EQ(value, 7);
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
