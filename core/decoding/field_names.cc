#include "core/decoding/field_names.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/formats/json_text.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostNames = 4096;
constexpr std::uint64_t kLargestRecord = 4u << 20;  // bytes
constexpr std::size_t kMostNamedValues = 1u << 20;

bool has_suffix(std::string& path, std::string_view suffix) {
  if (!path.ends_with(suffix)) return false;
  path.resize(path.size() - suffix.size());
  return true;
}

// Returns the shortest path that FieldPaths accepts for this one of a JSON document.
std::string field_name(std::string path) {
  std::string name = column_name(std::move(path));
  has_suffix(name, "_base64");
  return name;
}

// Bytes are an object with one member.
bool is_bytes(const JsonValue& value) {
  return value.type == JsonType::kObject && value.values.size() == 1 &&
         (value.values.front().key == "text" || value.values.front().key == "base64");
}

// Adds the names in a value, whose nesting is bounded.
void add_names(const JsonValue& value, const std::string& path, std::set<std::string>& names) {
  const bool is_object = value.type == JsonType::kObject && !is_bytes(value) && !value.values.empty();
  if (names.size() >= kMostNames) return;
  if (!is_object && value.type != JsonType::kArray) {
    if (!path.empty()) names.insert(field_name(path));
    return;
  }
  if (value.values.empty() && !path.empty()) names.insert(field_name(path));  // an empty list
  for (const JsonValue& inner : value.values) {
    add_names(inner, !is_object ? path : (path.empty() ? inner.key : path + '.' + inner.key), names);
  }
}

}  // namespace

std::string column_name(std::string path) {
  constexpr std::array<std::string_view, 3> kPlaces = {"features.feature.", "context.feature.",
                                                       "feature_lists.feature_list."};
  constexpr std::array<std::string_view, 3> kLists = {".int64_list.value", ".float_list.value", ".bytes_list.value"};
  for (const std::string_view place : kPlaces) {
    if (!path.starts_with(place)) continue;
    path.erase(0, place.size());
    for (const std::string_view list : kLists) {
      if (has_suffix(path, list)) break;
    }
    if (place == kPlaces.back()) has_suffix(path, ".feature");
    break;
  }
  return path;
}

std::set<std::string> field_names(std::string_view document) {
  std::set<std::string> names;
  if (const auto tree = read_json_tree(as_bytes(document), JsonWriter::kDeepest, kMostNamedValues)) {
    add_names(*tree, {}, names);
  }
  return names;
}

void note_field_names(const RequestContext& context, const RecordDecoder& decoder, const ChunkInfo& chunk, Bytes record,
                      const FieldPaths& fields) {
  if (record.size() > kLargestRecord || !fields.wants_names()) return;
  const auto document = decoder.document(context, chunk, record, JsonLayout::kLine);
  fields.note_names(document ? field_names(*document) : std::set<std::string>());
}

}  // namespace recordfs
