#include "core/search/record_matcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace recordfs {
namespace {

std::unique_ptr<const RecordMatcher> matcher_of(const std::vector<std::string>& patterns, MatchRules rules = {}) {
  return RecordMatcher::make(patterns, rules).value();
}

std::vector<std::string> all_in(const std::string& record, const std::vector<std::string>& patterns,
                                MatchRules rules = {}) {
  std::vector<std::string> found;
  for (const Match& match : matcher_of(patterns, rules)->find_all(record)) {
    found.push_back(record.substr(match.begin, match.size));
  }
  return found;
}

using Texts = std::vector<std::string>;

TEST(RecordMatcher, TextWithoutOperatorsIsSearchedAsBytes) {
  EXPECT_EQ(matcher_of({"needle"})->literal(), "needle");
  EXPECT_EQ(matcher_of({"a.c"}, {.is_literal = true})->literal(), "a.c");
  EXPECT_EQ(matcher_of({"a.c"})->literal(), "");
  EXPECT_EQ(matcher_of({"needle"}, {.ignores_case = true})->literal(), "");
  EXPECT_TRUE(matcher_of({"b\xff"})->matches(std::string_view("a\0b\xff", 4)));
}

TEST(RecordMatcher, RecordIsOneText) {
  EXPECT_TRUE(matcher_of({"a.b"})->matches("a\nb"));
  EXPECT_TRUE(matcher_of({"^b$"})->matches("a\nb\nc"));
  EXPECT_FALSE(matcher_of({"^b$"}, {.is_whole = true})->matches("a\nb\nc"));
  EXPECT_TRUE(matcher_of({"b|a.*"}, {.is_whole = true})->matches("a\nb\nc"));
}

TEST(RecordMatcher, EachPatternIsAnExpressionOfItsOwn) {
  EXPECT_EQ(all_in("ab cd", {"a", "c|d"}), (Texts{"a", "c", "d"}));
  const auto unbalanced = RecordMatcher::make({"a(", ")b"}, {});
  ASSERT_FALSE(unbalanced);
  EXPECT_EQ(unbalanced.error().code, Code::kUnsupported);
  EXPECT_TRUE(unbalanced.error().detail.starts_with("a(: ")) << unbalanced.error().detail;
}

TEST(RecordMatcher, NothingMatchesNoPattern) {
  EXPECT_FALSE(matcher_of({})->matches(""));
  EXPECT_FALSE(matcher_of({})->matches("a"));
}

TEST(RecordMatcher, WordsEndAtOtherCharacters) {
  const MatchRules words{.is_word = true};
  EXPECT_EQ(all_in("cat cats the_cat (cat)", {"cat"}, words), (Texts{"cat", "cat"}));
  EXPECT_EQ(all_in("\xc3\xa9t\xc3\xa9 t", {"t"}, words), (Texts{"t"})) << "letters of other scripts are letters";
}

TEST(RecordMatcher, RecordThatIsNotUtf8IsMatchedAsBytesToo) {
  EXPECT_TRUE(
      matcher_of({"a.b"})->matches("a\xff"
                                   "b"));
  EXPECT_TRUE(
      matcher_of({"a.b"})->matches("a\xc3\xa9"
                                   "b"));
  EXPECT_FALSE(
      matcher_of({"a..b"})->matches("a\xc3\xa9"
                                    "b"));
}

TEST(RecordMatcher, FindsFromAPlaceOn) {
  const auto matcher = matcher_of({"a+"});
  const auto first = matcher->find("xaaxa", 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(std::pair(first->begin, first->size), std::pair(std::size_t{1}, std::size_t{2}));
  const auto second = matcher->find("xaaxa", 3);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->begin, 4u);
  EXPECT_FALSE(matcher->find("xaaxa", 5));
}

TEST(RecordMatcher, EmptyMatchesAreLeftOut) {
  EXPECT_TRUE(matcher_of({"b*"})->matches("a"));
  EXPECT_EQ(all_in("abba", {"b*"}), (Texts{"bb"}));
}

TEST(FindText, FindsFromAPlaceOn) {
  EXPECT_EQ(find_text("abcabc", "bc", 0), 1u);
  EXPECT_EQ(find_text("abcabc", "bc", 2), 4u);
  EXPECT_EQ(find_text("abcabc", "bc", 5), std::string_view::npos);
  EXPECT_EQ(find_text("abc", "", 2), 2u);
  EXPECT_EQ(find_text("abc", "abcd", 0), std::string_view::npos);
}

}  // namespace
}  // namespace recordfs
