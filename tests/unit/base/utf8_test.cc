#include "core/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace recordfs {
namespace {

TEST(Utf8, CharactersHaveTheirEncodedLengths) {
  EXPECT_EQ(utf8_character("ab"), 1u);
  EXPECT_EQ(utf8_character(std::string_view("\0", 1)), 1u);
  EXPECT_EQ(utf8_character("\xc2\x80"), 2u);
  EXPECT_EQ(utf8_character("\xe0\xa0\x80z"), 3u);
  EXPECT_EQ(utf8_character("\xed\x9f\xbf"), 3u);
  EXPECT_EQ(utf8_character("\xf0\x90\x80\x80"), 4u);
  EXPECT_EQ(utf8_character("\xf4\x8f\xbf\xbf"), 4u);
}

TEST(Utf8, InvalidSequencesAreNotCharacters) {
  for (const char* text :
       {"", "\x80", "\xbf", "\xc3", "\xc3z", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf0\x9f\x8c", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(utf8_character(text), 0u) << printable(text);
  }
}

TEST(Utf8, TextIsUtf8OnlyIfAllOfItIs) {
  const std::string long_ascii(1000, 'a');
  for (const std::string& text :
       {std::string(), long_ascii, long_ascii + "\xc3\xa9", "\xf0\x9f\x8c\x8d" + long_ascii}) {
    EXPECT_TRUE(is_utf8(text)) << printable(text);
  }
  for (std::size_t at = 0; at <= 24; ++at) {
    std::string text(24, 'a');
    text.insert(at, "\xc3");
    EXPECT_FALSE(is_utf8(text)) << printable(text);
    text.insert(at + 1, "\xa9");
    EXPECT_TRUE(is_utf8(text)) << printable(text);
  }
}

TEST(Utf8, PrintableTextIsOneLineWithoutControlCharacters) {
  EXPECT_EQ(printable("caf\xc3\xa9 100%"), "caf\xc3\xa9 100%");
  EXPECT_EQ(printable("a\tb\nc\x7f"), "a\\x09b\\x0ac\\x7f");
  EXPECT_EQ(printable("\xff\xc2\x9b\xc3"), "\\xff\\xc2\\x9b\\xc3");
}

}  // namespace
}  // namespace recordfs
