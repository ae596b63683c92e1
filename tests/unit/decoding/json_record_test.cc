#include "core/decoding/json_record.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/decoding/record_decoder.h"

namespace recordfs {
namespace {

// Returns the value of a record as JSON, or "none".
std::string json_of(std::string_view record) {
  const auto value = json_of_record(as_bytes(record));
  if (!value) return value.error().detail;
  if (!*value) return "none";
  std::string text;
  JsonWriter writer(text);
  write_json(writer, **value);
  return text;
}

TEST(JsonRecord, ObjectsAndListsKeepTheirNumbers) {
  EXPECT_EQ(json_of(" {\"a\" : 1.10, \"b\":[true, null, -0, 12345678901234567890123, 1E+5], \"c\":{}} \n"),
            R"({"a":1.10,"b":[true,null,-0,12345678901234567890123,1E+5],"c":{}})");
  EXPECT_EQ(json_of(R"(["\u00e9\n", NaN, Infinity,-Infinity])"),
            "[\"\xC3\xA9\\n\",\"NaN\",\"Infinity\",\"-Infinity\"]");
}

TEST(JsonRecord, SingleValuesAreAsTheyWereWritten) {
  for (const std::string_view record : {"1", "-0", "1.50e3", "12345678901234567890123", "true", "false", "null"}) {
    EXPECT_EQ(json_of(record), record);
    EXPECT_EQ(json_of(" \t" + std::string(record) + "\r\n"), record);
  }
  EXPECT_EQ(json_of(R"("[\u00e9\"{")"), "\"[\xC3\xA9\\\"{\"");
  EXPECT_EQ(json_of(R"("\udc00")"), "a string of the JSON text has half of a surrogate pair, which UTF-8 cannot have");
}

TEST(JsonRecord, HalvesOfSurrogatePairsCannotBeDecoded) {
  EXPECT_EQ(json_of(R"(["\ud83d\ude00"])"), "[\"\xF0\x9F\x98\x80\"]");
  for (const char* const record : {R"({"a":"\ud800"})", R"({"a":["x\udc00y"]})", R"({"\ud800":1})", R"(["\ud800\n"])",
                                   R"(["\ud800 \ud83d\ude00"])", R"(["\ud800\ud83d\ude00"])"}) {
    EXPECT_EQ(json_of(record), "a string of the JSON text has half of a surrogate pair, which UTF-8 cannot have");
    RecordSchema schema;
    schema.may_be_message = true;
    const RecordDecoder decoder(schema, nullptr);
    std::string line = "{\"x\":1";
    EXPECT_TRUE(decoder.append_members({}, line, {}, as_bytes(std::string_view(record))));
    EXPECT_TRUE(line.starts_with(R"({"x":1,"error":"a string)")) << line;
  }
}

TEST(JsonRecord, LastMemberOfANameCounts) { EXPECT_EQ(json_of(R"({"a":1,"b":2,"a":3})"), R"({"b":2,"a":3})"); }

TEST(JsonRecord, OtherRecordsHaveNoValue) {
  for (const std::string_view record :
       {"",           " ",    "-",           "01",      "+1",     "1 2",    "truex",        "NaN",
        "-Infinity",  "\"",   "\"a\" \"b\"", "\"a\\",   "\"\n\"", "{",      "[1,]",         "{\"a\":1}x",
        "[01]",       "[1.]", "[-]",         "[1.2.3]", "[1e]",   "[-Inf]", "[--Infinity]", "[-NaN]",
        "[\"\xFF\"]", "[.5]", "{'a':1}",     "text"}) {
    EXPECT_EQ(json_of(record), "none") << record;
  }
}

TEST(JsonRecord, TextsWithTooManyLevelsOrValuesCannotBeDecoded) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + R"("]\"]")" + std::string(levels, ']');
  };
  EXPECT_EQ(json_of(nested(99)), nested(99));
  EXPECT_EQ(json_of(nested(102) + "\n"), "the JSON text nests more than 100 levels");
  EXPECT_EQ(json_of("{\"a\":" + nested(102) + '}'), "the JSON text nests more than 100 levels");
  for (const std::string& other : {nested(102) + "x", std::string(102, '['), nested(102) + ']', '{' + nested(102),
                                   nested(102).substr(0, 103), '{' + nested(102) + ']'}) {
    EXPECT_EQ(json_of(other), "none") << other;
  }
  std::string many = "[0";
  for (int i = 0; i < 1 << 20; ++i) many += ",0";
  EXPECT_EQ(json_of(many + ']'), "the JSON text has more than 1048576 values");
}

TEST(JsonRecord, IsDecodedIfTheFormatHasRecordsOfAnyContent) {
  constexpr std::string_view kRecord = R"({"a":{"b":7}})";
  RecordSchema schema;
  schema.may_be_message = true;
  const RecordDecoder decoder(schema, nullptr);
  EXPECT_EQ(decoder.document({}, {}, as_bytes(kRecord), JsonLayout::kLine).value(), std::string(kRecord) + '\n');
  std::string line = "{\"x\":1";
  EXPECT_TRUE(decoder.append_members({}, line, {}, as_bytes(kRecord)));
  EXPECT_EQ(line, R"({"x":1,"decoded":{"a":{"b":7}})");
  EXPECT_EQ(decoder.row({}, {}, as_bytes(std::string_view(R"({"a":[1.10,NaN]})"))).value(), R"({"a":[1.10,NaN]})");
  schema.may_be_message = false;
  EXPECT_FALSE(decoder.document({}, {}, as_bytes(kRecord)));
  EXPECT_FALSE(decoder.row({}, {}, as_bytes(kRecord)));
}

}  // namespace
}  // namespace recordfs
