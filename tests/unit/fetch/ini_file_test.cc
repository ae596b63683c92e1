// The files of settings in ~/.aws.
#include "core/fetch/ini_file.h"

#include <gtest/gtest.h>

namespace recordfs::fetch {
namespace {

TEST(IniFile, HasSectionsAndSettings) {
  const auto file = parse_ini(
      "\xEF\xBB\xBF# comment\n; comment\n\n[default]\r\nRegion = eu-west-1 \r\nkey=a=b:c # d\ncolon: x\nempty =\n"
      "s3 =\n    endpoint_url = http://h\n  max = 3\nlast = 1\n[ profile  \"a b\" ]\nkey = y");
  ASSERT_TRUE(file);
  ASSERT_EQ(file->size(), 2u);
  const IniSection expected{{"region", "eu-west-1"}, {"key", "a=b:c # d"}, {"colon", "x"},
                            {"empty", ""},           {"s3", ""},           {"last", "1"}};
  EXPECT_EQ(file->at("default"), expected);
  EXPECT_EQ(file->at("profile a b"), (IniSection{{"key", "y"}}));
}

TEST(IniFile, LastOfEqualNamesCounts) {
  const auto file = parse_ini("[a]\nx=1\nx=2\n[a]\ny=3\nX=4\n");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->at("a"), (IniSection{{"x", "4"}, {"y", "3"}}));
}

TEST(IniFile, OtherLinesAreRefusedByNumber) {
  EXPECT_TRUE(parse_ini(""));
  for (const char* const text : {"[a]\nSECRET\n", "\nSECRET = x\n", "[a]\n=SECRET\n", "\n[SECRET\n"}) {
    const auto file = parse_ini(text);
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().code, Code::kUnsupported);
    EXPECT_EQ(file.error().detail, "line 2 is neither a section nor a setting") << text;
  }
}

}  // namespace
}  // namespace recordfs::fetch
