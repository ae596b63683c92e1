#include "core/decoding/fields.h"

#include <string_view>
#include <vector>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"

namespace recordfs {
namespace {

using protobuf::Field;
using protobuf::WireType;

std::string_view word_of(WireType type) {
  switch (type) {
    case WireType::kVarint: return "varint";
    case WireType::kFixed64: return "fixed64";
    case WireType::kLengthDelimited: return "bytes";
    case WireType::kFixed32: return "fixed32";
    case WireType::kGroupStart:
    case WireType::kGroupEnd: break;
  }
  return "group";
}

void write_content(JsonWriter& writer, const Field& field, Bytes content) {
  Cursor number(content);
  switch (field.type) {
    case WireType::kVarint: writer.name("value"); return writer.quoted(field.value);
    case WireType::kFixed64: writer.name("value"); return writer.quoted(number.u64_le());
    case WireType::kFixed32: writer.name("value"); return writer.number(std::uint64_t{number.u32_le()});
    case WireType::kLengthDelimited: return writer.bytes("text", "base64", content);
    case WireType::kGroupStart:
    case WireType::kGroupEnd: return;
  }
}

void begin_field(JsonWriter& writer, const Field& field) {
  writer.begin_object();
  writer.name("field");
  writer.number(std::uint64_t{field.number});
  writer.name("wire");
  writer.string(word_of(field.type));
}

// Writes a field. A group remains open in `writer`.
void write_field(JsonWriter& writer, const Field& field, Bytes content) {
  if (field.type == WireType::kGroupEnd) {
    writer.end_list();
    return writer.end_object();
  }
  begin_field(writer, field);
  if (field.type == WireType::kGroupStart) {
    writer.name("fields");
    return writer.begin_list();
  }
  write_content(writer, field, content);
  writer.end_object();
}

}  // namespace

bool is_message(Bytes bytes, std::uint32_t depth) {
  protobuf::MessageReader reader(bytes, depth);
  while (reader.next()) {
  }
  return reader.finish().has_value();
}

void write_fields(JsonWriter& writer, Bytes message, std::uint32_t depth) {
  Cursor cursor(message);
  protobuf::Groups groups(depth);
  std::uint32_t open = 0;
  writer.begin_list();
  while (!cursor.at_end() && !writer.is_full()) {
    const Field field = protobuf::read_field(cursor);
    const Bytes content = cursor.take(field.size);
    if (!cursor.ok() || !groups.note(field)) break;
    if (field.type == WireType::kGroupStart) ++open;
    if (field.type == WireType::kGroupEnd) --open;
    write_field(writer, field, content);
  }
  for (; open > 0; --open) {
    writer.end_list();
    writer.end_object();
  }
  writer.end_list();
}

}  // namespace recordfs
