#include "fusefs/tree/generated_files.h"

#include <gtest/gtest.h>

#include <string>

namespace recordfs {
namespace {

constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kBytes = "application/octet-stream";

std::string_view type_of(const std::string& bytes, bool is_all = true) { return media_type(as_bytes(bytes), is_all); }

TEST(MediaType, TextIsRecognized) {
  for (const char* text : {"", "words", "a\tb\r\nc\n", "Zürich, 北京", "\xF0\x9F\x98\x80", "x{", "\""}) {
    EXPECT_EQ(type_of(text), kText) << text;
  }
}

TEST(MediaType, BinaryDataIsNotText) {
  for (const std::string& bytes :
       {std::string("a\0b", 3), std::string("\x1b[0m"), std::string("a\x7F"), std::string("\xFF"), std::string("\xC3"),
        std::string("a\xC2\x85"), std::string("\x01{")}) {
    EXPECT_EQ(type_of(bytes), kBytes);
  }
}

TEST(MediaType, TruncatedLastCharacterIsStillText) {
  for (const char* bytes : {"words \xC3", "words \xE5\x8C", "words \xF0\x9F\x98"}) {
    EXPECT_EQ(type_of(bytes, false), kText);
    EXPECT_EQ(type_of(bytes, true), kBytes);
  }
  EXPECT_EQ(type_of("words \x8C", false), kBytes) << "no character begins like this";
  EXPECT_EQ(type_of("words \xF0zzz", false), kBytes);
  EXPECT_EQ(type_of("words \xFF", false), kBytes);
}

TEST(MediaType, JsonIsRecognized) {
  EXPECT_EQ(type_of("{\"a\": 1}"), "application/json");
  EXPECT_EQ(type_of(" \n[1, 2"), "application/json");
  EXPECT_EQ(type_of(std::string("{\0}", 3)), kBytes);
}

TEST(MediaType, MagicNumbersAreRecognized) {
  EXPECT_EQ(type_of("\x89PNG\r\n\x1a\n..."), "image/png");
  EXPECT_EQ(type_of("\xFF\xD8\xFF\xE0"), "image/jpeg");
  EXPECT_EQ(type_of("\x1F\x8B\x08"), "application/gzip");
  EXPECT_EQ(type_of("\x28\xB5\x2F\xFD"), "application/zstd");
  EXPECT_EQ(type_of(std::string("SQLite format 3\0", 16)), "application/x-sqlite3");
  EXPECT_EQ(type_of("SQLite format 3"), kText);
  EXPECT_EQ(type_of("\x89PNG"), kBytes);
}

}  // namespace
}  // namespace recordfs
