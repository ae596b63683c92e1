#include <gtest/gtest.h>

#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include "fusefs/commands/record_options.h"
#include "tests/unit/decoding/typed_records.h"

namespace recordfs {
namespace {

using Json = nlohmann::json;

std::string line_of(const RecordName& name, std::string_view record) {
  std::string line;
  testing::TypedRecords records;
  records.schema.may_be_message = false;
  EXPECT_TRUE(append_json_line(line, name, as_bytes(record), RecordDecoder(records.schema, &records), {}));
  return line;
}

TEST(JsonLines, RecordIsAnObjectOnOneLine) {
  EXPECT_EQ(line_of(std::uint64_t{42}, "hello"), "{\"ordinal\":42,\"size\":5,\"text\":\"hello\"}\n");
  EXPECT_EQ(line_of(std::uint64_t{0}, ""), "{\"ordinal\":0,\"size\":0,\"text\":\"\"}\n");
  EXPECT_EQ(line_of(RecordAddress{65536, 3}, "x"), "{\"chunk\":65536,\"index\":3,\"size\":1,\"text\":\"x\"}\n");
}

TEST(JsonLines, NonTextIsBase64) {
  EXPECT_EQ(line_of(std::uint64_t{1}, "\xff\xfe"), "{\"ordinal\":1,\"size\":2,\"base64\":\"//4=\"}\n");
  EXPECT_EQ(line_of(std::uint64_t{1}, "eight ascii bytes, then \xc3"),
            "{\"ordinal\":1,\"size\":25,\"base64\":\"ZWlnaHQgYXNjaWkgYnl0ZXMsIHRoZW4gww==\"}\n");
}

TEST(JsonLines, EveryCharacterRoundTrips) {
  std::string text;
  for (char c = 0; c < 0x7f; ++c) text += c;
  text += "\x7f \xc2\x85 caf\xc3\xa9 \xe2\x80\xa8 \xf0\x9f\x8c\x8d";
  const std::string line = line_of(std::uint64_t{7}, text);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(Json::parse(line)["text"].get<std::string>(), text);
}

TEST(JsonLines, DecodedContentFollowsTheRecord) {
  testing::TypedRecords records;
  records.schema.value = [](Bytes, ValueForm) -> Result<Value> { return Value{std::uint64_t{5}}; };
  std::string line;
  EXPECT_TRUE(append_json_line(line, std::uint64_t{1}, as_bytes("x"), RecordDecoder(records.schema, &records), {}));
  EXPECT_EQ(line, "{\"ordinal\":1,\"size\":1,\"text\":\"x\",\"decoded\":5}\n");
}

TEST(JsonLines, TemporaryFailureWritesNothing) {
  testing::TypedRecords records;
  records.schema.value = [](Bytes, ValueForm) -> Result<Value> { return Error{.code = Code::kIo, .detail = "later"}; };
  std::string line = "before";
  EXPECT_FALSE(append_json_line(line, std::uint64_t{1}, as_bytes("x"), RecordDecoder(records.schema, &records), {}));
  EXPECT_EQ(line, "before");
}

TEST(JsonLines, AnyBytesYieldALineOfJson) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string record(random() % 40, '\0');
    for (char& c : record) c = static_cast<char>(random() % 4 == 0 ? random() : 'a' + random() % 26);
    const Json made = Json::parse(line_of(std::uint64_t{9}, record));
    EXPECT_EQ(made["size"], record.size());
    EXPECT_NE(made.contains("text"), made.contains("base64"));
    if (made.contains("text")) {
      EXPECT_EQ(made["text"].get<std::string>(), record);
    }
  }
}

}  // namespace
}  // namespace recordfs
