#include "core/decoding/record_decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace recordfs {
namespace {

using namespace std::string_view_literals;

constexpr std::uint32_t kDepth = 10;

std::string fields_of(std::string_view message) {
  std::string text;
  JsonWriter writer(text, JsonLayout::kLine, 1u << 20);
  write_fields(writer, as_bytes(message), kDepth);
  return text;
}

TEST(Fields, EachWireTypeIsShown) {
  EXPECT_EQ(fields_of("\x08\x96\x01"), R"([{"field":1,"wire":"varint","value":"150"}])");
  EXPECT_EQ(fields_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            R"([{"field":1,"wire":"varint","value":"18446744073709551615"}])");
  EXPECT_EQ(fields_of("\x12\x03"
                      "abc"),
            R"([{"field":2,"wire":"bytes","text":"abc"}])");
  EXPECT_EQ(fields_of("\x12\x02\xff\xfe"), R"([{"field":2,"wire":"bytes","base64":"//4="}])");
  EXPECT_EQ(fields_of("\x2d\x7b\0\0\0"sv), R"([{"field":5,"wire":"fixed32","value":123}])");
  EXPECT_EQ(fields_of("\x31\x7b\0\0\0\0\0\0\0"sv), R"([{"field":6,"wire":"fixed64","value":"123"}])");
  EXPECT_EQ(fields_of("\x3b\x08\x01\x43\x44\x3c\x10\x02"),
            R"([{"field":7,"wire":"group","fields":[{"field":1,"wire":"varint","value":"1"},)"
            R"({"field":8,"wire":"group","fields":[]}]},{"field":2,"wire":"varint","value":"2"}])");
  EXPECT_EQ(fields_of(""), "[]");
}

TEST(Fields, BrokenMessageIsShownUpToTheDamage) {
  EXPECT_EQ(fields_of("\x08\x01\x12\x09"
                      "abc"),
            R"([{"field":1,"wire":"varint","value":"1"}])");
  EXPECT_EQ(fields_of("\x3b\x08\x01"),
            R"([{"field":7,"wire":"group","fields":[{"field":1,"wire":"varint","value":"1"}]}])");
  EXPECT_EQ(fields_of("\x3b\x44\x08\x01"), R"([{"field":7,"wire":"group","fields":[]}])");
  EXPECT_EQ(fields_of("\x08\x01\x0c"), R"([{"field":1,"wire":"varint","value":"1"}])");
}

TEST(Fields, DepthIsBounded) {
  const std::string deep(10000, '\x3b');
  EXPECT_FALSE(is_message(as_bytes(deep + std::string(10000, '\x3c')), kDepth));
  EXPECT_EQ(nlohmann::json::parse(fields_of(deep)).size(), 1u);
  const std::string allowed = std::string(kDepth, '\x3b') + std::string(kDepth, '\x3c');
  EXPECT_TRUE(is_message(as_bytes(allowed), kDepth));
}

TEST(Fields, ArbitraryBytesYieldJson) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 30, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() % 64 : random());
    const std::string text = fields_of(bytes);
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
}

}  // namespace
}  // namespace recordfs
