// The parts of a record as a flat list, in which a directory precedes its contents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/formats/chunk.h"
#include "core/formats/value.h"

namespace recordfs {

enum class PartKind : std::uint8_t {
  kDirectory,
  kSlice,  // a file: a slice of the record's bytes
  kText,   // a file: text generated from the record
};

struct Part {
  std::string key{};
  std::optional<std::size_t> parent{};  // index of its directory in the list; nullopt: top level
  PartKind kind = PartKind::kDirectory;
  Extent extent{};     // of kSlice: position in the record
  std::string text{};  // of kText
  std::string type{};  // of a message
};

using Parts = std::vector<Part>;

// A part and its key, which must outlive it.
struct FlatValue {
  std::string_view key;
  std::optional<std::size_t> parent;
  Value value;  // an empty Object for a directory
};

// Makes a record's Value of its parts.
inline Value tree_of(std::vector<FlatValue> parts) {
  Value top{Value::Object()};
  for (std::size_t i = parts.size(); i-- > 0;) {
    FlatValue& part = parts[i];
    if (auto* members = std::get_if<Value::Object>(&part.value.is)) std::ranges::reverse(*members);
    Value& directory = part.parent ? parts[*part.parent].value : top;
    std::get<Value::Object>(directory.is).push_back({part.key, std::move(part.value)});
  }
  std::ranges::reverse(std::get<Value::Object>(top.is));
  return top;
}

inline Value value_of(const Parts& parts, Bytes record) {
  std::vector<FlatValue> flat;
  for (const Part& part : parts) {
    Value value{Value::Object()};
    const Bytes slice(record.data() + part.extent.begin, part.extent.size);
    if (part.kind == PartKind::kSlice) value.is = slice;
    if (part.kind == PartKind::kSlice && !part.type.empty()) value.is = Message{part.type, slice};
    if (part.kind == PartKind::kText) value.is = part.text;
    flat.push_back({part.key, part.parent, std::move(value)});
  }
  return tree_of(std::move(flat));
}

// Appends the parts of a directory.
inline void append_parts(Parts& parts, const Value& directory, std::optional<std::size_t> parent, Bytes record) {
  const auto append = [&](std::string key, const Value& value) {
    Part part{.key = std::move(key), .parent = parent};
    const auto* message = std::get_if<Message>(&value.is);
    const auto* members = std::get_if<Value::Object>(&value.is);
    if (members != nullptr && !members->empty() && members->back().name.empty()) {
      message = std::get_if<Message>(&members->back().value.is);
      if (message != nullptr) part.key = std::to_string(std::get<std::uint64_t>(members->front().value.is));
    }
    if (message != nullptr) {
      part.kind = PartKind::kSlice;
      part.extent = extent_in(record, message->bytes);
      part.type = message->type;
    } else if (const auto* bytes = std::get_if<Bytes>(&value.is)) {
      part.kind = PartKind::kSlice;
      part.extent = extent_in(record, *bytes);
    } else if (const auto* text = std::get_if<std::string>(&value.is)) {
      part.kind = PartKind::kText;
      part.text = text->empty() || text->ends_with('\n') ? *text : *text + "\n";
    } else if (const auto* number = std::get_if<std::uint64_t>(&value.is)) {
      part.kind = PartKind::kText;
      part.text = std::to_string(*number) + "\n";
    }
    parts.push_back(part);
    if (part.kind == PartKind::kDirectory) append_parts(parts, value, parts.size() - 1, record);
  };
  if (const auto* list = std::get_if<Value::List>(&directory.is)) {
    for (std::size_t i = 0; i < list->size(); ++i) append(fmt::format("{:0{}}", i, parent ? 1 : 6), (*list)[i]);
  } else if (const auto* members = std::get_if<Value::Object>(&directory.is)) {
    for (const Member& member : *members) append(std::string(member.name), member.value);
  }
}

// Returns the parts that a Value describes.
inline Parts parts_in(const Value& value, Bytes record) {
  Parts parts;
  append_parts(parts, value, std::nullopt, record);
  return parts;
}

}  // namespace recordfs
