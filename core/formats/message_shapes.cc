#include "core/formats/message_shapes.h"

#include <algorithm>
#include <set>

#include "core/base/cursor.h"
#include "core/base/parse_number.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

using protobuf::MessageReader;
using protobuf::WireType;

WireType wire_type_of_name(std::string_view type) {
  if (type == "double") return WireType::kFixed64;
  if (type == "float") return WireType::kFixed32;
  const bool is_number = type.starts_with("int") || type.starts_with("uint") || type == "bool";
  return is_number ? WireType::kVarint : WireType::kLengthDelimited;
}

// Removes the text up to the next `end`, and returns it without that.
std::string_view take_until(char end, std::string_view& text) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(taken.size() + 1, text.size()));
  return taken;
}

// Returns whether bytes are numbers one after another.
bool are_packed(WireType type, Bytes content) {
  if (type != WireType::kVarint) return content.size() % (type == WireType::kFixed64 ? 8 : 4) == 0;
  Cursor cursor(content);
  while (cursor.ok() && !cursor.at_end()) cursor.varint64();
  return cursor.ok();
}

}  // namespace

MessageShapes::MessageShapes(std::string_view types) {
  std::set<std::string_view> enumerations;
  Fields* current = nullptr;
  while (!types.empty()) {
    std::string_view line = take_until('\n', types);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    std::string_view type = take_until(' ', line);
    const std::string_view name = take_until(' ', line);
    if (type == "message" || type == "enum") {
      if (type == "enum") enumerations.insert(name);
      current = &types_[std::string(name)];
    } else if (const auto number = parse_number<std::uint32_t>(take_until(' ', line))) {
      Field& field = (*current)[*number];  // otherwise an empty line, or a value of an enumeration
      field.oneof = line;
      field.is_repeated = type.ends_with('*');
      if (field.is_repeated) type.remove_suffix(1);
      field.wire_type = wire_type_of_name(type);
      field.is_text = type == "string";
      field.message = type;
    }
  }
  for (auto& [name, fields] : types_) {
    for (auto& [number, field] : fields) {
      if (enumerations.contains(field.message)) field.wire_type = WireType::kVarint;
      if (enumerations.contains(field.message) || !types_.contains(field.message)) field.message.clear();
    }
  }
}

bool MessageShapes::fits(const Field& field, const protobuf::Field& found, Bytes content) const {
  const bool is_delimited = found.type == WireType::kLengthDelimited;
  if (found.type != field.wire_type) return field.is_repeated && is_delimited && are_packed(field.wire_type, content);
  if (!field.message.empty()) return fits(field.message, content);
  return !field.is_text || is_utf8(as_text(content));
}

bool MessageShapes::fits(std::string_view type, Bytes message) const {
  const Fields& fields = types_.find(type)->second;
  std::set<std::uint32_t> seen;
  std::set<std::string_view> oneofs;
  MessageReader reader(message, 0);
  while (reader.next()) {
    const auto known = fields.find(reader.field().number);
    if (known == fields.end() || !fits(known->second, reader.field(), reader.content())) return false;
    const Field& field = known->second;
    if (!field.is_repeated && !seen.insert(known->first).second) return false;
    if (!field.oneof.empty() && !oneofs.insert(field.oneof).second) return false;
  }
  return static_cast<bool>(reader.finish());
}

}  // namespace recordfs
