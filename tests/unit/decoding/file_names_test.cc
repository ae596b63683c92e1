#include "core/decoding/file_names.h"

#include <gtest/gtest.h>

#include <set>

#include "core/base/percent_encoding.h"

namespace recordfs {
namespace {

using FileNames = std::vector<std::string>;
using Keys = std::vector<std::string_view>;

TEST(FileNames, NumbersAreZeroPaddedAndMayBeLonger) {
  EXPECT_EQ(record_name(42), "000000042");
  EXPECT_EQ(record_name(12345678901), "12345678901");
  EXPECT_EQ(chunk_record_name(3), "000003");
  EXPECT_EQ(position_name(65536), "000000000065536");
  EXPECT_EQ(thousand_name(41), "000041");
}

TEST(FileNames, NumberMayHaveAnyLeadingZeros) {
  EXPECT_EQ(number_from("42"), 42u);
  EXPECT_EQ(number_from("00000000000000000000000000000042"), 42u);
  EXPECT_EQ(number_from("0"), 0u);
  EXPECT_EQ(number_from("18446744073709551615"), UINT64_MAX);
}

TEST(FileNames, OtherTextIsNotANumber) {
  for (const std::string_view name : {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "1a", "18446744073709551616", "1\n"}) {
    EXPECT_EQ(number_from(name), std::nullopt) << name;
  }
  EXPECT_EQ(number_from(std::string_view("1\0", 2)), std::nullopt);
}

TEST(FileNames, PlainKeysAreUnchanged) {
  EXPECT_EQ(names_for({"a", "B c", "~", "x.y", ".hidden", "..."}, {}),
            (FileNames{"a", "B c", "~", "x.y", ".hidden", "..."}));
}

TEST(FileNames, BytesInvalidInNamesAreEncoded) {
  EXPECT_EQ(names_for({"a/b", std::string_view("\0", 1), "50%", "\n\x7f", "\xc3", "\xc2\x85", "\xed\xa0\x80"}, {}),
            (FileNames{"a%2Fb", "%00", "50%25", "%0A%7F", "%C3", "%C2%85", "%ED%A0%80"}));
}

TEST(FileNames, TextOfAnyScriptIsUnchanged) {
  EXPECT_EQ(names_for({"\xc3\xa4", "\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87", "\xf0\x9f\x8c\x8d"}, {}),
            (FileNames{"\xc3\xa4", "\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87", "\xf0\x9f\x8c\x8d"}));
}

TEST(FileNames, PrefixOfALongKeyEndsWithAWholeCharacter) {
  std::string key(99, 'x');
  for (int i = 0; i < 100; ++i) key += "\xc3\xa4";
  EXPECT_EQ(names_for({key}, {})[0].substr(0, 100), std::string(99, 'x') + "~");
}

TEST(FileNames, DifferentKeysStayDifferentWhenEncoded) {
  EXPECT_NE(percent_encoded("a/b", "/"), percent_encoded("a%2Fb", "/"));
}

TEST(FileNames, HostileKeysGetUsableNames) {
  const std::string long_key(1000, 'x');
  const std::string other_long_key = long_key + "y";
  const Keys keys = {"", ".", "..", long_key, other_long_key, "names.tsv", "same", "same", "same"};
  const FileNames names = names_for(keys, {"names.tsv"});
  ASSERT_EQ(names.size(), keys.size());
  for (const std::string& name : names) {
    EXPECT_FALSE(name.empty());
    EXPECT_LE(name.size(), 200u);
    EXPECT_EQ(name.find('/'), std::string::npos);
    EXPECT_NE(name, ".");
    EXPECT_NE(name, "..");
    EXPECT_NE(name, "names.tsv");
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(names[6], "same");
  EXPECT_EQ(names[7].substr(0, 5), "same~");
  EXPECT_EQ(names[3].substr(0, 101), std::string(100, 'x') + "~");
}

TEST(FileNames, KeyEqualToAnotherHashedNameGetsItsOwnName) {
  const std::string hashed = names_for({""}, {})[0];
  for (const Keys& keys : {Keys{"", hashed}, Keys{hashed, ""}}) {
    const FileNames names = names_for(keys, {});
    EXPECT_NE(names[0], names[1]);
  }
}

TEST(FileNames, LongestNameIsTwoHundredBytes) {
  const std::string fits(200, 'x');
  const std::string encoded(67, '/');  // 201 bytes once encoded
  EXPECT_EQ(names_for({fits}, {})[0], fits);
  EXPECT_EQ(names_for({encoded}, {})[0].size(), 116u);
}

TEST(FileNames, ManyEqualKeysTakeLinearTime) {
  const Keys keys(20000, "same");
  const FileNames names = names_for(keys, {});
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), keys.size());
}

TEST(FileNames, OnlyEncodedKeysAreDecoded) {
  for (const std::string& key : {std::string("plain"), std::string("a/b"), std::string("\xff\0%", 3), std::string()}) {
    EXPECT_EQ(percent_decoded(percent_encoded(key, "/"), "/"), key);
  }
  for (const char* name : {"%", "%4", "%zz", "%ff", "%61", "a/b", "%+1"}) {
    EXPECT_EQ(percent_decoded(name, "/"), std::nullopt) << name;
  }
}

TEST(FileNames, UnsuitableKeyNameGetsTheKeyNumber) {
  EXPECT_EQ(key_name("a/b", 7, {"taken"}), "a%2Fb");
  EXPECT_EQ(key_name("taken", 0xABC, {"taken"}), "taken~0000000000000abc");
  EXPECT_EQ(key_name("", 1, {}), "~0000000000000001");
  EXPECT_EQ(key_name("..", 1, {}), "..~0000000000000001");
  EXPECT_EQ(key_name(std::string(1u << 20, 'x'), 1, {}), std::string(100, 'x') + "~0000000000000001");
  EXPECT_EQ(key_name("x~0000000000000001", 2, {}), "x~0000000000000001~0000000000000002");
  EXPECT_EQ(key_name("x~000000000000000A", 2, {}), "x~000000000000000A");
}

TEST(FileNames, KeyNumberIsParsedFromTheName) {
  EXPECT_EQ(key_number_in("x~0123456789abcdef"), 0x0123456789ABCDEFu);
  EXPECT_EQ(key_number_in("~ffffffffffffffff"), 0xFFFFFFFFFFFFFFFFu);
  for (const char* name : {"", "x", "0123456789abcdef", "x~123", "x~0123456789ABCDEF", "x-0123456789abcdef"}) {
    EXPECT_EQ(key_number_in(name), std::nullopt) << name;
  }
}

TEST(FileNames, TableListsTheKeysOfRenamedFiles) {
  EXPECT_EQ(names_table({"plain", "a\tb", "a/b", ""}, {"plain", "a%09b", "a%2Fb", "~0"}),
            "name\tkey\na%09b\ta%09b\na%2Fb\ta/b\n~0\t\n");
}

}  // namespace
}  // namespace recordfs
