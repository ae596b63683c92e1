#include "core/decoding/record_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tests/unit/decoding/typed_records.h"

namespace recordfs {
namespace {

using testing::TypedRecords;

constexpr std::string_view kMessage = "\x08\x96\x01";

std::string members(const RecordDecoder& decoder, std::string_view record) {
  std::string line = "{\"size\":1";
  EXPECT_TRUE(decoder.append_members({}, line, {}, as_bytes(record)));
  EXPECT_TRUE(nlohmann::json::accept(line + "}")) << line;
  return line.substr(9);
}

Code failure(const Result<std::string>& document) {
  EXPECT_FALSE(document);
  return document ? Code::kPending : document.error().code;
}

TEST(RecordDecoder, MessageOfUnknownTypeIsShownByItsFields) {
  const TypedRecords records;
  const RecordDecoder decoder(records.schema, &records);
  EXPECT_TRUE(decoder.decodes({}));
  EXPECT_EQ(members(decoder, kMessage), R"(,"fields":[{"field":1,"wire":"varint","value":"150"}])");
  EXPECT_EQ(decoder.document({}, {}, as_bytes(kMessage)).value(), R"({
  "fields": [
    {
      "field": 1,
      "wire": "varint",
      "value": "150"
    }
  ]
}
)");
}

TEST(RecordDecoder, TextAndNonMessagesAreNotDecoded) {
  const TypedRecords records;
  const RecordDecoder decoder(records.schema, &records);
  for (const std::string_view record : {"", "hello", "\"\ttab\n", "\x08", "\x08\x96\x01\xff"}) {
    EXPECT_EQ(members(decoder, record), "") << record;
    EXPECT_EQ(failure(decoder.document({}, {}, as_bytes(record))), Code::kNotFound);
  }
}

TEST(RecordDecoder, NothingIsDecodedIfTheFormatRulesItOut) {
  TypedRecords records;
  records.schema.may_be_message = false;
  const RecordDecoder decoder(records.schema, &records);
  EXPECT_FALSE(decoder.decodes({}));
  EXPECT_EQ(members(decoder, kMessage), "");
}

TEST(RecordDecoder, FailedReadOfTheTypeFailsOneDocumentOnly) {
  TypedRecords records;
  records.type = "a.Type";
  records.type_failure = Error{.code = Code::kIo, .detail = "a passing error"};
  const RecordDecoder decoder(records.schema, &records);
  EXPECT_TRUE(decoder.decodes({}));
  EXPECT_EQ(failure(decoder.document({}, {}, as_bytes(kMessage))), Code::kIo);
  std::string line = "{";
  EXPECT_FALSE(decoder.append_members({}, line, {}, as_bytes(kMessage)));
  EXPECT_EQ(line, "{");
  records.type_failure.reset();
  EXPECT_NE(decoder.document({}, {}, as_bytes(kMessage)).value().find("a.Type"), std::string::npos);
}

TEST(RecordDecoder, ValuesOfTheFormatAreShown) {
  TypedRecords records;
  records.schema.value = [](Bytes record, ValueForm) -> Result<Value> {
    return Value{Value::Object{{"size", {std::uint64_t{record.size()}}}, {"data", {record}}}};
  };
  const RecordDecoder decoder(records.schema, &records);
  EXPECT_EQ(members(decoder, "abc"), R"(,"decoded":{"size":3,"data":"abc"})");
  EXPECT_EQ(decoder.document({}, {}, as_bytes("abc")).value(), "{\n  \"size\": 3,\n  \"data\": \"abc\"\n}\n");
  records.schema.value = [](Bytes record, ValueForm) -> Result<Value> { return Value{record}; };
  EXPECT_EQ(members(decoder, "\xff"), R"(,"decoded_base64":"/w==")");
}

TEST(RecordDecoder, BytesDoNotGetTheNameOfAnotherMember) {
  TypedRecords records;
  records.schema.value = [](Bytes record, ValueForm) -> Result<Value> {
    return Value{Value::Object{{"a", {record}}, {"a_base64", {std::string("x")}}, {"b", {record}}}};
  };
  const RecordDecoder decoder(records.schema, &records);
  EXPECT_EQ(members(decoder, "\xff"), R"(,"decoded":{"a":{"base64":"/w=="},"a_base64":"x","b_base64":"/w=="})");
  EXPECT_EQ(members(decoder, "t"), R"(,"decoded":{"a":{"text":"t"},"a_base64":"x","b":"t"})");
}

TEST(RecordDecoder, RecordOfAnUnexpectedKindMayStillBeAMessage) {
  TypedRecords records;
  records.schema.value = [](Bytes, ValueForm) -> Result<Value> {
    return Error{.code = Code::kDamage, .detail = "no batch"};
  };
  const RecordDecoder decoder(records.schema, &records);
  EXPECT_EQ(members(decoder, kMessage), R"(,"fields":[{"field":1,"wire":"varint","value":"150"}])");
  EXPECT_EQ(members(decoder, "text"), "");
  records.schema.may_be_message = false;
  EXPECT_EQ(members(decoder, "text"), R"(,"error":"no batch")");
  EXPECT_EQ(failure(decoder.document({}, {}, as_bytes("text"))), Code::kDamage);
}

TEST(RecordDecoder, TooLargeDocumentIsReportedAndNotKept) {
  const TypedRecords records;
  const RecordDecoder decoder(records.schema, &records, {}, 30);
  EXPECT_EQ(members(decoder, kMessage), R"(,"error":"decoded content too large")");
  EXPECT_EQ(failure(decoder.document({}, {}, as_bytes(kMessage))), Code::kLimit);
}

TEST(RecordDecoder, LineWithoutSpaceForItsTypeIsStillJson) {
  // One type is shorter than the error that follows it, and the other is longer.
  for (const std::string& type : {std::string("a.Type"), std::string(150, 't')}) {
    TypedRecords records;
    records.type = type;
    for (std::uint64_t room = 0; room < 260; ++room) {
      const std::string told = members(RecordDecoder(records.schema, &records, {}, room), "");
      EXPECT_TRUE(told == R"(,"type":")" + type + R"(","error":"no descriptor of this type","fields":[])" ||
                  told == R"(,"error":"decoded content too large")")
          << told;
    }
  }
}

}  // namespace
}  // namespace recordfs
