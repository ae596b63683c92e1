#include "core/formats/riegeli/metadata.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"

namespace recordfs::riegeli {
namespace {

// Protobuf's wire types.
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kLengthDelimited = 2;
constexpr std::uint32_t kGroupStart = 3;
constexpr std::uint32_t kGroupEnd = 4;
constexpr std::uint32_t kFixed32 = 5;

// Field numbers of RecordsMetadata.
constexpr std::uint32_t kFileComment = 1;
constexpr std::uint32_t kRecordTypeName = 2;
constexpr std::uint32_t kFileDescriptor = 3;
constexpr std::uint32_t kRecordWriterOptions = 4;
constexpr std::uint32_t kNumRecords = 5;
// The tag of FileDescriptorSet.file.
constexpr char kFileTag = 1 << 3 | kLengthDelimited;

Error damage() { return {.code = Code::kDamage, .detail = "the file metadata is no valid message"}; }

struct Tag {
  std::uint32_t field, wire_type;
};

Tag read_tag(Cursor& cursor) {
  const std::uint32_t tag = cursor.varint32();
  if (tag >> 3 == 0) cursor.fail();
  return {tag >> 3, tag & 7};
}

void skip_scalar(Cursor& cursor, std::uint32_t wire_type) {
  switch (wire_type) {
    case kVarint: cursor.varint64(); break;
    case kFixed64: cursor.skip(8); break;
    case kLengthDelimited: cursor.skip(cursor.varint32()); break;
    case kFixed32: cursor.skip(4); break;
    default: cursor.fail();
  }
}

// Skips a group up to its end tag.
Result<void> skip_group(Cursor& cursor, std::uint32_t field, std::uint32_t depth_limit) {
  std::vector<std::uint32_t> open = {field};
  while (!open.empty() && cursor.ok()) {
    if (open.size() > depth_limit) return Error{.code = Code::kLimit, .detail = "file metadata nests too deep"};
    const Tag tag = read_tag(cursor);
    if (tag.wire_type == kGroupStart) {
      open.push_back(tag.field);
    } else if (tag.wire_type != kGroupEnd) {
      skip_scalar(cursor, tag.wire_type);
    } else if (tag.field == open.back()) {
      open.pop_back();
    } else {
      cursor.fail();
    }
  }
  if (!cursor.ok()) return damage();
  return {};
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

struct Fields {
  std::optional<std::string> file_comment, record_type_name, file_descriptors, record_writer_options, num_records;
};

void read_length_delimited(Cursor& cursor, std::uint32_t field, Fields& fields) {
  const std::string_view value = as_text(cursor.take(cursor.varint32()));
  switch (field) {
    case kFileComment: fields.file_comment = value; break;
    case kRecordTypeName: fields.record_type_name = value; break;
    case kRecordWriterOptions: fields.record_writer_options = value; break;
    case kFileDescriptor: {
      if (!fields.file_descriptors) fields.file_descriptors.emplace();
      std::string& set = *fields.file_descriptors;
      set.push_back(kFileTag);
      append_varint(set, value.size());
      set += value;
      break;
    }
    default: break;
  }
}

// Whether a field that has a meaning here comes with its own type.
bool has_right_type(Tag tag) {
  if (tag.field == kNumRecords) return tag.wire_type == kVarint;
  return tag.field > kNumRecords || tag.wire_type == kLengthDelimited;
}

Result<Fields> read_fields(Bytes message, const Limits& limits) {
  Fields fields;
  Cursor cursor(message);
  while (!cursor.at_end()) {
    const Tag tag = read_tag(cursor);
    if (!has_right_type(tag)) return damage();
    if (tag.wire_type == kLengthDelimited) {
      read_length_delimited(cursor, tag.field, fields);
    } else if (tag.field == kNumRecords) {
      fields.num_records = fmt::format("{}", static_cast<std::int64_t>(cursor.varint64()));
    } else if (tag.wire_type == kGroupStart) {
      if (auto skipped = skip_group(cursor, tag.field, limits.nesting_depth); !skipped)
        return std::move(skipped).error();
    } else {
      skip_scalar(cursor, tag.wire_type);
    }
  }
  if (!cursor.ok()) return damage();
  return fields;
}

}  // namespace

Result<std::vector<Attribute>> parse_metadata(Bytes message, const Limits& limits) {
  auto fields = read_fields(message, limits);
  if (!fields) return std::move(fields).error();
  std::vector<Attribute> attributes;
  const auto add = [&](std::string_view key, std::string_view type, std::optional<std::string>& value) {
    if (value) attributes.push_back({std::string(key), std::string(type), std::move(*value)});
  };
  add("file_comment", "string", fields->file_comment);
  add("record_type_name", "string", fields->record_type_name);
  add("file_descriptor_set", "google.protobuf.FileDescriptorSet", fields->file_descriptors);
  add("record_writer_options", "string", fields->record_writer_options);
  add("num_records", "int64", fields->num_records);
  std::optional<std::string> whole;
  if (!message.empty()) whole = as_text(message);
  add("records_metadata", "riegeli.RecordsMetadata", whole);
  return attributes;
}

}  // namespace recordfs::riegeli
