#include "core/decoding/record_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tests/unit/decoding/told_container.h"

namespace recordfs {
namespace {

using testing::ToldContainer;

constexpr std::string_view kMessage = "\x08\x96\x01";

std::string members(const RecordDecoder& decoder, std::string_view record) {
  std::string line = "{\"size\":1";
  EXPECT_TRUE(decoder.append_members(line, {}, as_bytes(record)));
  EXPECT_TRUE(nlohmann::json::accept(line + "}")) << line;
  return line.substr(9);
}

Code failure(const Result<std::string>& document) {
  EXPECT_FALSE(document);
  return document ? Code::kPending : document.error().code;
}

TEST(RecordDecoder, MessageOfUnknownTypeIsShownByItsFields) {
  const ToldContainer container;
  const RecordDecoder decoder(container);
  EXPECT_TRUE(decoder.decodes());
  EXPECT_EQ(members(decoder, kMessage), R"(,"fields":[{"field":1,"wire":"varint","value":"150"}])");
  EXPECT_EQ(decoder.document({}, as_bytes(kMessage)).value(), R"({
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
  const ToldContainer container;
  const RecordDecoder decoder(container);
  for (const std::string_view record : {"", "hello", "\"\ttab\n", "\x08", "\x08\x96\x01\xff"}) {
    EXPECT_EQ(members(decoder, record), "") << record;
    EXPECT_EQ(failure(decoder.document({}, as_bytes(record))), Code::kNotFound);
  }
}

TEST(RecordDecoder, NothingIsDecodedIfTheFormatRulesItOut) {
  ToldContainer container;
  container.may_be_messages = false;
  const RecordDecoder decoder(container);
  EXPECT_FALSE(decoder.decodes());
  EXPECT_EQ(members(decoder, kMessage), "");
}

TEST(RecordDecoder, FailedReadOfTheTypeFailsOneDocumentOnly) {
  ToldContainer container;
  container.type = "a.Type";
  container.type_failure = Error{.code = Code::kIo, .detail = "a passing error"};
  const RecordDecoder decoder(container);
  EXPECT_TRUE(decoder.decodes());
  EXPECT_EQ(failure(decoder.document({}, as_bytes(kMessage))), Code::kIo);
  std::string line = "{";
  EXPECT_FALSE(decoder.append_members(line, {}, as_bytes(kMessage)));
  EXPECT_EQ(line, "{");
  container.type_failure.reset();
  EXPECT_NE(decoder.document({}, as_bytes(kMessage)).value().find("a.Type"), std::string::npos);
}

TEST(RecordDecoder, ValuesOfTheFormatAreShown) {
  ToldContainer container;
  container.tell = [](Bytes record) -> Result<Value> {
    return Value{Value::Object{{"size", {std::uint64_t{record.size()}}}, {"data", {record}}}};
  };
  const RecordDecoder decoder(container);
  EXPECT_EQ(members(decoder, "abc"), R"(,"decoded":{"size":3,"data":"abc"})");
  EXPECT_EQ(decoder.document({}, as_bytes("abc")).value(), "{\n  \"size\": 3,\n  \"data\": \"abc\"\n}\n");
  container.tell = [](Bytes record) -> Result<Value> { return Value{record}; };
  EXPECT_EQ(members(decoder, "\xff"), R"(,"decoded_base64":"/w==")");
}

TEST(RecordDecoder, RecordOfAnUnexpectedKindMayStillBeAMessage) {
  ToldContainer container;
  container.tell = [](Bytes) -> Result<Value> { return Error{.code = Code::kDamage, .detail = "no batch"}; };
  const RecordDecoder decoder(container);
  EXPECT_EQ(members(decoder, kMessage), R"(,"fields":[{"field":1,"wire":"varint","value":"150"}])");
  EXPECT_EQ(members(decoder, "text"), "");
  container.may_be_messages = false;
  EXPECT_EQ(members(decoder, "text"), R"(,"error":"no batch")");
  EXPECT_EQ(failure(decoder.document({}, as_bytes("text"))), Code::kDamage);
}

TEST(RecordDecoder, TooLargeDocumentIsReportedAndNotKept) {
  const ToldContainer container;
  const RecordDecoder decoder(container, {}, 30);
  EXPECT_EQ(members(decoder, kMessage), R"(,"error":"decoded content too large")");
  EXPECT_EQ(failure(decoder.document({}, as_bytes(kMessage))), Code::kLimit);
}

TEST(RecordDecoder, LineWithoutSpaceForItsTypeIsStillJson) {
  ToldContainer container;
  container.type = "a.Type";
  for (std::uint64_t room = 0; room < 120; ++room) {
    const std::string told = members(RecordDecoder(container, {}, room), "");
    EXPECT_TRUE(told == R"(,"type":"a.Type","error":"no descriptor of this type","fields":[])" ||
                told == R"(,"error":"decoded content too large")")
        << told;
  }
}

}  // namespace
}  // namespace recordfs
