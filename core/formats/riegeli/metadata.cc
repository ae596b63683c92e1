#include "core/formats/riegeli/metadata.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/protobuf.h"

namespace recordfs::riegeli {
namespace {

// Field numbers of RecordsMetadata.
constexpr std::uint32_t kFileComment = 1;
constexpr std::uint32_t kRecordTypeName = 2;
constexpr std::uint32_t kFileDescriptor = 3;
constexpr std::uint32_t kRecordWriterOptions = 4;
constexpr std::uint32_t kNumRecords = 5;
// The field number of FileDescriptorSet.file.
constexpr std::uint32_t kFile = 1;

Error damage() { return {.code = Code::kDamage, .detail = "the file metadata is not a valid message"}; }

struct Fields {
  std::optional<std::string> file_comment, record_type_name, file_descriptors, record_writer_options, num_records;
};

void note(const protobuf::MessageReader& reader, Fields& fields) {
  const std::string_view value = as_text(reader.content());
  switch (reader.field().number) {
    case kFileComment: fields.file_comment = value; break;
    case kRecordTypeName: fields.record_type_name = value; break;
    case kRecordWriterOptions: fields.record_writer_options = value; break;
    case kNumRecords: fields.num_records = fmt::format("{}", static_cast<std::int64_t>(reader.field().value)); break;
    case kFileDescriptor:
      if (!fields.file_descriptors) fields.file_descriptors.emplace();
      protobuf::append_field(*fields.file_descriptors, kFile, value);
      break;
    default: break;
  }
}

// Returns whether a known field has its declared wire type.
bool has_right_type(const protobuf::Field& field) {
  if (field.number == kNumRecords) return field.type == protobuf::WireType::kVarint;
  return field.number > kNumRecords || field.type == protobuf::WireType::kLengthDelimited;
}

Result<Fields> read_fields(Bytes message, const Limits& limits) {
  Fields fields;
  protobuf::MessageReader reader(message, limits.nesting_depth);
  while (reader.next()) {
    if (!has_right_type(reader.field())) return damage();
    note(reader, fields);
  }
  if (auto whole = reader.finish(); !whole) {
    return whole.error().code == Code::kDamage ? damage() : std::move(whole).error();
  }
  return fields;
}

}  // namespace

Result<std::vector<Attribute>> parse_metadata(Bytes message, const Limits& limits) {
  ASSIGN_OR_RETURN(auto fields, read_fields(message, limits));
  std::vector<Attribute> attributes;
  const auto add = [&](std::string_view key, std::string_view type, std::optional<std::string>& value) {
    if (value) attributes.push_back({std::string(key), std::string(type), std::move(*value)});
  };
  add("file_comment", "string", fields.file_comment);
  add(kRecordTypeKey, "string", fields.record_type_name);
  add(kDescriptorsKey, "google.protobuf.FileDescriptorSet", fields.file_descriptors);
  add("record_writer_options", "string", fields.record_writer_options);
  add("num_records", "int64", fields.num_records);
  std::optional<std::string> whole;
  if (!message.empty()) whole = as_text(message);
  add("records_metadata", "riegeli.RecordsMetadata", whole);
  return attributes;
}

}  // namespace recordfs::riegeli
