#include <string>

#include "core/base/bytes.h"
#include "core/database/key_text.h"
#include "gtest/gtest.h"

namespace recordfs {
namespace {

std::string escaped(const std::string& key) { return escaped_key(as_bytes(key)); }

TEST(KeyText, PrintableTextStaysAsItIs) {
  EXPECT_EQ(escaped(""), "");
  EXPECT_EQ(escaped("user/1 ~%"), "user/1 ~%");
  EXPECT_EQ(escaped("\u00fc\u4e2d\U0001F600"), "\u00fc\u4e2d\U0001F600");
}

TEST(KeyText, BackslashesAndControlCharactersAreEscaped) {
  EXPECT_EQ(escaped("a\\x41"), "a\\\\x41");
  EXPECT_EQ(escaped(std::string("\0\n\x7f", 3)), "\\x00\\x0a\\x7f");
  EXPECT_EQ(escaped("\u0085"), "\\xc2\\x85");
}

TEST(KeyText, InvalidUtf8IsEscapedByteByByte) { EXPECT_EQ(escaped("\xff\xc3(\xe4"), "\\xff\\xc3(\\xe4"); }

TEST(KeyText, EveryPairOfBytesIsReadBack) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string key{static_cast<char>(first), static_cast<char>(second)};
      EXPECT_EQ(unescaped_key(escaped(key)), key);
    }
  }
}

TEST(KeyText, UpperCaseDigitsAndEscapesOfAnyByteAreAccepted) { EXPECT_EQ(unescaped_key("\\x41\\xFf"), "A\xff"); }

TEST(KeyText, InvalidEscapesAreRefused) {
  for (const char* text : {"\\", "a\\", "\\n", "\\x", "\\x4", "\\xg0", "\\x-1", "\\x 1", "\\101"}) {
    EXPECT_EQ(unescaped_key(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace recordfs
