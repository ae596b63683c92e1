// Records of containers that carry the descriptors of their type, compared with libprotobuf's JSON of the same bytes.
#include <gtest/gtest.h>

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/decoding/record_decoder.h"
#include "core/formats/registry.h"
#include "tests/unit/decoding/schema.h"

namespace recordfs {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::json;

// Converts messages with libprotobuf. Its JSON printer leaves out groups and prints their fields as fields of the
// parent. So each message is printed without its submessages, which are printed separately.
class Library {
 public:
  Library(const std::string& descriptors, const std::string& type) {
    pb::FileDescriptorSet set;
    EXPECT_TRUE(set.ParseFromString(descriptors));
    for (const auto& file : set.file()) EXPECT_NE(pool_.BuildFile(file), nullptr);
    const auto* const descriptor = pool_.FindMessageTypeByName(type);
    if (descriptor != nullptr) message_.reset(factory_.GetPrototype(descriptor)->New());
  }

  Json of(Bytes bytes) {
    EXPECT_TRUE(message_->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())));
    return json_of(*message_);
  }

 private:
  Json json_of(pb::Message& message) {
    const pb::Reflection& reflection = *message.GetReflection();
    Json messages = Json::object();
    std::vector<const pb::FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const auto* const field : fields) {
      if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
      Json& inner = messages[field->name()];
      if (field->is_repeated()) {
        for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
          inner.push_back(json_of(*reflection.MutableRepeatedMessage(&message, field, i)));
        }
      } else {
        inner = json_of(*reflection.MutableMessage(&message, field));
      }
      reflection.ClearField(&message, field);
    }
    pb::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    std::string text;
    EXPECT_TRUE(pb::util::MessageToJsonString(message, &text, options).ok());
    Json json = Json::parse(text);
    json.update(messages);
    return json;
  }

  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory factory_{&pool_};
  std::unique_ptr<pb::Message> message_;
};

// Whether two values are equal except for the digits of floats.
bool are_same(const Json& one, const Json& other) {
  if (one.is_number() && other.is_number() && (one.is_number_float() || other.is_number_float())) {
    const double a = one.get<double>();
    const double b = other.get<double>();
    return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
  }
  if (one.type() != other.type() || one.size() != other.size() || !one.is_structured()) return one == other;
  for (auto at = one.begin(), there = other.begin(); at != one.end(); ++at, ++there) {
    if (one.is_object() && at.key() != there.key()) return false;
    if (!are_same(*at, *there)) return false;
  }
  return true;
}

// Calls `take` with every record of every chunk.
template <class Take>
void for_each_record(const Container& container, Take take) {
  for (std::optional<ChunkKey> at = container.traits().first; at;) {
    const auto step = container.scan({}, *at);
    ASSERT_TRUE(step);
    if (step->chunk && step->chunk->records.value_or(0) > 0) {
      const auto chunk = container.decode({}, *step->chunk);
      ASSERT_TRUE(chunk);
      for (std::uint64_t i = 0; i < (*chunk)->layout().records(); ++i) {
        const Extent extent = (*chunk)->layout().extent(i);
        const auto record = (*chunk)->read({}, extent.begin, extent.size);
        ASSERT_TRUE(record);
        take(*step->chunk, record->bytes);
      }
    }
    at = step->next;
  }
}

class Described : public ::testing::TestWithParam<const char*> {};

TEST_P(Described, RecordsDecodeLikeLibprotobuf) {
  const auto file = FileSource::open(std::string("tests/corpus/riegeli/") + GetParam());
  ASSERT_TRUE(file);
  const auto container = open_container({}, *file, GetParam(), {});
  ASSERT_TRUE(container);
  const std::string type((*container)->metadata()->record_type({}).value());
  EXPECT_EQ(type, "hdev.Everything");
  const auto descriptors = (*container)->metadata()->descriptors({}, {});
  ASSERT_TRUE(descriptors);
  EXPECT_EQ(*descriptors, (*container)->metadata()->descriptors({}, {}).value());
  Library library(**descriptors, type);
  const RecordDecoder decoder((*container)->schema(), (*container)->metadata());
  int records = 0;
  for_each_record(**container, [&](const ChunkInfo& chunk, Bytes record) {
    std::string line = "{\"ordinal\":0";
    ASSERT_TRUE(decoder.append_members({}, line, chunk, record));
    const Json made = Json::parse(line + "}");
    const Json expected = library.of(record);
    EXPECT_EQ(made["type"], type);
    EXPECT_TRUE(are_same(made["decoded"], expected)) << made["decoded"] << "\n" << expected;
    const auto document = decoder.document({}, chunk, record);
    ASSERT_TRUE(document);
    EXPECT_TRUE(document->ends_with("}\n"));
    EXPECT_EQ(Json::parse(*document), made["decoded"]);
    EXPECT_EQ(decoder.document_of_message({}, chunk, {type, record}).value(), *document);
    ++records;
  });
  EXPECT_GE(records, 30);
}

INSTANTIATE_TEST_SUITE_P(Riegeli, Described,
                         ::testing::Values("metadata_full_transposed.riegeli",
                                           "metadata_full_simple_uncompressed.riegeli"));

TEST(Undescribed, ContainerWithoutMetadataHasNoRecordType) {
  const auto file = FileSource::open("tests/corpus/riegeli/simple_zstd9.riegeli");
  ASSERT_TRUE(file);
  const auto container = open_container({}, *file, "x", {});
  ASSERT_TRUE(container);
  EXPECT_EQ((*container)->metadata()->record_type({}).value(), "");
  EXPECT_EQ((*container)->metadata()->descriptors({}, {}).value(), nullptr);
}

}  // namespace
}  // namespace recordfs
