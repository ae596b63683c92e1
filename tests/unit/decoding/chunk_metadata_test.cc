#include "core/decoding/chunk_metadata.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/decoding/record_decoder.h"
#include "tests/unit/decoding/typed_records.h"

namespace recordfs {
namespace {

using testing::TypedRecords;

// Records that decode to {"a":1}, in chunks with metadata.
struct WithMetadata {
  explicit WithMetadata(Result<std::vector<Attribute>> metadata) {
    records.schema.value = [](Bytes, ValueForm) -> Result<Value> {
      Value::Object members;
      add_member(members, "a", std::uint64_t{1});
      return Value{std::move(members)};
    };
    records.metadata_at = [this, made = std::move(metadata)](const ChunkInfo&) {
      ++reads;
      return made;
    };
  }

  std::string document(JsonLayout layout = JsonLayout::kLine) const {
    auto made = RecordDecoder(records.schema, &records).document({}, {}, as_bytes("record"), layout);
    EXPECT_TRUE(made);
    if (!made) return {};
    made->pop_back();
    return std::move(*made);
  }
  std::string members(ByteForm form) const {
    std::string line = "{\"size\":1";
    EXPECT_TRUE(RecordDecoder(records.schema, &records).append_members({}, line, {}, as_bytes("record"), form));
    return line.substr(9);
  }

  TypedRecords records;
  int reads = 0;
};

TEST(ChunkMetadata, MetadataInEffectIsAMemberOfTheDecodedRecord) {
  const WithMetadata file(std::vector<Attribute>{{"run", "", "7"}, {"\xD0\xBA \"", "", "two\nlines"}, {"", "", ""}});
  const std::string expected = R"({"a":1,"metadata":{"run":"7","к \"":"two\nlines","":""}})";
  EXPECT_EQ(file.document(), expected);
  EXPECT_EQ(file.members(ByteForm::kAuto), ",\"decoded\":" + expected);
}

TEST(ChunkMetadata, ValuesAreWrittenLikeOtherBytes) {
  const WithMetadata file(std::vector<Attribute>{{"bin", "", "\xFF"}, {"run", "", "7"}});
  EXPECT_EQ(file.document(), R"({"a":1,"metadata":{"bin_base64":"/w==","run":"7"}})");
  EXPECT_EQ(file.document(JsonLayout::kTyped), R"({"a":1,"metadata":{"bin":"\ud800/w==","run":"\ud800Nw=="}})");
  EXPECT_EQ(file.members(ByteForm::kBase64),
            R"(,"decoded":{"a":1,"metadata":{"bin_base64":"/w==","run_base64":"Nw=="}})");
  EXPECT_EQ(file.members(ByteForm::kHex), R"(,"decoded":{"a":1,"metadata":{"bin_hex":"ff","run_hex":"37"}})");
}

TEST(ChunkMetadata, KeysThatCannotBeNamesAreInAList) {
  const WithMetadata file(std::vector<Attribute>{{"bin", "", "\xFF"}, {"bin_base64", "", "x"}, {"\xFE", "", "\xFD"}});
  EXPECT_EQ(file.document(), R"({"a":1,"metadata":{"bin_base64":"/w=="},"other_metadata":[)"
                             R"({"key":"bin_base64","value":"x"},{"key_base64":"/g==","value_base64":"/Q=="}]})");
}

TEST(ChunkMetadata, MetadataThatDoesNotFitIsCounted) {
  const std::string fits(ChunkMetadata::kMostBytes - 4, 'x');
  const WithMetadata file(std::vector<Attribute>{{"large", "", std::string(ChunkMetadata::kMostBytes, 'y')},
                                                 {"a", "", fits},
                                                 {"bc", "", "d"},
                                                 {"e", "", ""},
                                                 {"f", "", "g"}});
  EXPECT_EQ(file.document(), R"({"a":1,"metadata":{"a":")" + fits + R"(","bc":"d"},"metadata_omitted":3})");
}

TEST(ChunkMetadata, RecordsWithoutMetadataHaveNoMember) {
  EXPECT_EQ(WithMetadata(std::vector<Attribute>{}).document(), R"({"a":1})");
}

TEST(ChunkMetadata, MetadataThatNeverVariesIsNotRepeated) {
  WithMetadata file(std::vector<Attribute>{{"run", "", "7"}});
  file.records.metadata_at = nullptr;
  EXPECT_EQ(file.document(), R"({"a":1})");
}

TEST(ChunkMetadata, OnlyObjectsOfTheFormatHaveMetadata) {
  WithMetadata file(std::vector<Attribute>{{"run", "", "7"}});
  file.records.schema.value = [](Bytes, ValueForm) -> Result<Value> { return Value{std::uint64_t{3}}; };
  EXPECT_EQ(file.document(), "3");
  EXPECT_EQ(file.reads, 0);
}

TEST(ChunkMetadata, UnreadableMetadataIsReported) {
  const WithMetadata file(Error{.code = Code::kLimit, .position = 9, .detail = "too \xFF much"});
  EXPECT_EQ(file.document(), R"({"a":1,"metadata_error":"byte 9: too \\xff much"})");
}

TEST(ChunkMetadata, TransientFailureFailsTheRecordAndIsNotCached) {
  WithMetadata file(std::vector<Attribute>{{"run", "", "7"}});
  const RecordDecoder decoder(file.records.schema, &file.records);
  const auto good = std::exchange(file.records.metadata_at, [](const ChunkInfo&) -> Result<std::vector<Attribute>> {
    return Error{.code = Code::kIo, .detail = "disk"};
  });
  EXPECT_EQ(decoder.document({}, {}, as_bytes("record")).error().code, Code::kIo);
  std::string line = "{\"size\":1";
  EXPECT_EQ(decoder.append_members({}, line, {}, as_bytes("record")).error().code, Code::kIo);
  EXPECT_EQ(line, "{\"size\":1");
  file.records.metadata_at = good;
  EXPECT_TRUE(decoder.append_members({}, line, {}, as_bytes("record")));
  EXPECT_EQ(line, R"({"size":1,"decoded":{"a":1,"metadata":{"run":"7"}})");
}

TEST(ChunkMetadata, MetadataOfAChunkIsReadOnce) {
  const WithMetadata file(std::vector<Attribute>{{"run", "", "7"}});
  const RecordDecoder decoder(file.records.schema, &file.records);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(decoder.document({}, {}, as_bytes("record")));
  EXPECT_EQ(file.reads, 1);
}

}  // namespace
}  // namespace recordfs
