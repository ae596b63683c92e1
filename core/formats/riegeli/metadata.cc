#include "core/formats/riegeli/metadata.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/protobuf.h"

namespace recordfs::riegeli {
namespace {

using protobuf::append_field;

// Field numbers of RecordsMetadata.
constexpr std::uint32_t kFileComment = 1;
constexpr std::uint32_t kRecordTypeName = 2;
constexpr std::uint32_t kFileDescriptor = 3;
constexpr std::uint32_t kRecordWriterOptions = 4;
constexpr std::uint32_t kNumRecords = 5;
// The field number of FileDescriptorSet.file.
constexpr std::uint32_t kFile = 1;

// The keys of the other attributes.
constexpr std::string_view kCommentKey = "file_comment";
constexpr std::string_view kOptionsKey = "record_writer_options";
constexpr std::string_view kCountKey = "num_records";
constexpr std::string_view kWholeKey = "records_metadata";

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
      append_field(*fields.file_descriptors, kFile, value);
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
  add(kCommentKey, "string", fields.file_comment);
  add(kRecordTypeKey, "string", fields.record_type_name);
  add(kDescriptorsKey, "google.protobuf.FileDescriptorSet", fields.file_descriptors);
  add(kOptionsKey, "string", fields.record_writer_options);
  add(kCountKey, "int64", fields.num_records);
  std::optional<std::string> whole;
  if (!message.empty()) whole = as_text(message);
  add(kWholeKey, "riegeli.RecordsMetadata", whole);
  return attributes;
}

Result<std::string> encode_metadata(const WriterOptions& options) {
  std::map<std::string_view, std::string_view> values;
  if (!options.record_type.empty()) values[kRecordTypeKey] = options.record_type;
  if (options.descriptors) values[kDescriptorsKey] = *options.descriptors;
  for (const Attribute& attribute : options.metadata) {
    const std::string_view key = attribute.key;
    if (key == kWholeKey) return attribute.value;
    // The file may have another number of records than the one that the attribute is from.
    if (key == kCountKey) continue;
    if (key != kCommentKey && key != kRecordTypeKey && key != kDescriptorsKey && key != kOptionsKey) {
      return Error{.code = Code::kUnsupported, .detail = fmt::format("Riegeli's file metadata has no '{}'", key)};
    }
    values[key] = attribute.value;
  }
  std::string message;
  const auto append_text = [&](std::uint32_t number, std::string_view key) {
    if (const auto value = values.find(key); value != values.end()) append_field(message, number, value->second);
  };
  append_text(kFileComment, kCommentKey);
  append_text(kRecordTypeName, kRecordTypeKey);
  protobuf::MessageReader files(as_bytes(values[kDescriptorsKey]), Limits{}.nesting_depth);
  while (files.next()) {
    if (files.field().is(kFile, protobuf::WireType::kLengthDelimited)) {
      append_field(message, kFileDescriptor, as_text(files.content()));
    }
  }
  TRY(files.finish());
  append_text(kRecordWriterOptions, kOptionsKey);
  return message;
}

}  // namespace recordfs::riegeli
