// The JSON of values.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/decoding/record_decoder.h"
#include "tests/unit/decoding/typed_records.h"

namespace recordfs {
namespace {

// Returns the JSON of a value in a list.
std::string written(const Value& value) {
  testing::TypedRecords records;
  records.schema.value = [&value](Bytes, ValueForm) { return Value{Value::List{value}}; };
  std::string line = "{";
  EXPECT_TRUE(RecordDecoder(records.schema, &records).append_members({}, line, {}, {}));
  constexpr std::string_view kBefore = R"({,"decoded":[)";
  EXPECT_TRUE(line.starts_with(kBefore) && line.ends_with("]")) << line;
  return line.substr(kBefore.size(), line.size() - kBefore.size() - 1);
}

// The members of a message whose type is not available.
std::string message_of(const std::string& type) {
  return R"("type":")" + type + R"(","error":"no descriptor of this type","fields":[])";
}

TEST(ValueText, EachTypeHasItsNotation) {
  EXPECT_EQ(written({}), "null");
  EXPECT_EQ(written({true}), "true");
  EXPECT_EQ(written({std::int64_t{-3}}), "-3");
  EXPECT_EQ(written({UINT64_MAX}), "18446744073709551615");
  EXPECT_EQ(written({0.5}), "0.5");
  EXPECT_EQ(written({std::string("a\nb")}), R"("a\nb")");
  EXPECT_EQ(written({Message{"a.B", {}}}), "{" + message_of("a.B") + "}");
}

TEST(ValueText, BytesAreShownAsTextIfTheyAreUtf8) {
  EXPECT_EQ(written({as_bytes("abc")}), R"({"text":"abc"})");
  EXPECT_EQ(written({as_bytes("\xff")}), R"({"base64":"/w=="})");
  const Value::Object members{{"key", {as_bytes("k")}}, {"value", {as_bytes("\xff")}}};
  EXPECT_EQ(written({members}), R"({"key":"k","value_base64":"/w=="})");
}

TEST(ValueText, UnnamedMessageIsMergedIntoTheEnclosingMembers) {
  const Value::Object entry{{"id", {std::uint64_t{7}}}, {"", {Message{"a.B", {}}}}, {"m", {Message{"c.D", {}}}}};
  EXPECT_EQ(written({Value::List{{entry}, {}}}),
            R"([{"id":7,)" + message_of("a.B") + R"(,"m":{)" + message_of("c.D") + "}},null]");
}

}  // namespace
}  // namespace recordfs
