#include "core/decoding/value_text.h"

#include <gtest/gtest.h>

#include <string>

namespace recordfs {
namespace {

std::string written(const Value& value) {
  std::string text;
  JsonWriter writer(text, JsonLayout::kLine, 1u << 20);
  write_value(writer, value, [](JsonWriter& to, const Message& message) {
    to.name("type");
    to.string(message.type);
  });
  return text;
}

TEST(ValueText, EachTypeHasItsNotation) {
  EXPECT_EQ(written({}), "null");
  EXPECT_EQ(written({true}), "true");
  EXPECT_EQ(written({std::int64_t{-3}}), "-3");
  EXPECT_EQ(written({UINT64_MAX}), "18446744073709551615");
  EXPECT_EQ(written({0.5}), "0.5");
  EXPECT_EQ(written({std::string("a\nb")}), R"("a\nb")");
  EXPECT_EQ(written({Message{"a.B", {}}}), R"({"type":"a.B"})");
}

TEST(ValueText, BytesAreShownAsTextIfTheyAreUtf8) {
  EXPECT_EQ(written({as_bytes("abc")}), R"({"text":"abc"})");
  EXPECT_EQ(written({as_bytes("\xff")}), R"({"base64":"/w=="})");
  const Value::Object members{{"key", {as_bytes("k")}}, {"value", {as_bytes("\xff")}}};
  EXPECT_EQ(written({members}), R"({"key":"k","value_base64":"/w=="})");
}

TEST(ValueText, UnnamedMessageIsMergedIntoTheEnclosingMembers) {
  const Value::Object entry{{"id", {std::uint64_t{7}}}, {"", {Message{"a.B", {}}}}, {"m", {Message{"c.D", {}}}}};
  EXPECT_EQ(written({Value::List{{entry}, {}}}), R"([{"id":7,"type":"a.B","m":{"type":"c.D"}},null])");
}

}  // namespace
}  // namespace recordfs
