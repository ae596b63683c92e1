// Patterns of file names.
#include "core/dataset/pattern.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/support/temp_folder.h"

namespace recordfs::testing {
namespace {

using Names = std::vector<std::string>;

class PatternTest : public ::testing::Test {
 protected:
  PatternTest() {
    for (const char* const name :
         {"a1/t-1", "a1/t-2", "a1/sub/t-3", "a2/t-4", "b/t-5", "a3", ".hidden", "odd[1]", "back\\x"})
      folder.write(name, "");
    folder.link("a1/dangling", "nothing");
    folder.link("a4", "b");
  }

  Names matches(std::string_view pattern) const {
    Names names = expand_pattern(folder.path() + "/" + std::string(pattern), 100).value();
    for (std::string& name : names) name.erase(0, folder.path().size() + 1);
    std::ranges::sort(names);
    return names;
  }

  const TempFolder folder;
};

TEST_F(PatternTest, WildcardsMatchFilesAndDirectories) {
  EXPECT_EQ(matches("a*"), (Names{"a1/", "a2/", "a3", "a4/"}));
  EXPECT_EQ(matches("a[12]"), (Names{"a1/", "a2/"}));
  EXPECT_EQ(matches("*/t-?"), (Names{"a1/t-1", "a1/t-2", "a2/t-4", "a4/t-5", "b/t-5"}));
  EXPECT_EQ(matches("*/*/t-?"), (Names{"a1/sub/t-3"}));
  EXPECT_EQ(matches("nothing*"), Names{});
}

TEST_F(PatternTest, PlainComponentsMayFollowWildcards) {
  EXPECT_EQ(matches("a*/sub/t-*"), (Names{"a1/sub/t-3"}));
  EXPECT_EQ(matches("a*/sub"), (Names{"a1/sub/"}));
  EXPECT_EQ(matches("a*/sub/"), (Names{"a1/sub/"}));
  EXPECT_EQ(matches("a*/t-1/"), Names{});
  EXPECT_EQ(matches("*/dangling"), (Names{"a1/dangling"}));
  EXPECT_EQ(matches("a*/../a3"), (Names{"a1/../a3", "a2/../a3", "a4/../a3"}));
}

TEST_F(PatternTest, SlashAtTheEndMeansDirectories) { EXPECT_EQ(matches("a*//"), (Names{"a1/", "a2/", "a4/"})); }

TEST_F(PatternTest, HiddenFilesNeedADot) {
  EXPECT_EQ(matches("?hidden"), Names{});
  EXPECT_EQ(matches(".h*"), (Names{".hidden"}));
}

TEST_F(PatternTest, BackslashEscapes) {
  EXPECT_EQ(matches("od*\\[1]"), (Names{"odd[1]"}));
  EXPECT_EQ(matches("odd\\[1]"), (Names{"odd[1]"}));
  EXPECT_EQ(matches("back\\\\*"), (Names{"back\\x"}));
}

TEST_F(PatternTest, NumberOfMatchesIsLimited) {
  EXPECT_EQ(expand_pattern(folder.path() + "/a*", 3).error().code, Code::kLimit);
  EXPECT_EQ(expand_pattern(folder.path() + "/a*", 4).value().size(), 4u);
}

}  // namespace
}  // namespace recordfs::testing
