#include "fusefs/commands/record_part.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fusefs/tree/inside.h"
#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

std::optional<std::uint64_t> entry_of(const Inside& inside, std::uint64_t directory, std::string_view key) {
  const auto entry = inside.find(directory, names_for({key}, {}).front());
  return entry && !inside.message_of(*entry) ? entry : std::nullopt;
}

// Returns the part, which is not a directory, at a path below a directory.
std::optional<std::uint64_t> find_part(const Inside& inside, std::uint64_t directory, std::string_view path) {
  for (std::size_t end = std::min(path.find('/'), path.size());; end = std::min(path.find('/', end + 1), path.size())) {
    const auto entry = entry_of(inside, directory, path.substr(0, end));
    const bool is_directory = entry && inside.kind(*entry) == Inside::Kind::kDirectory;
    if (end == path.size()) return is_directory ? std::nullopt : entry;
    if (is_directory) {
      if (const auto found = find_part(inside, *entry, path.substr(end + 1))) return found;
    }
  }
}

}  // namespace

Result<std::vector<std::optional<std::string>>> parts_of_record(const RecordSchema& schema, Bytes record,
                                                                std::span<const std::string> paths) {
  std::vector<std::optional<std::string>> parts(paths.size());
  if (record.size() > schema.largest_record_with_parts) {
    return Error{.code = Code::kLimit, .detail = "record too large for its parts to be read"};
  }
  const auto value = schema.value(record, ValueForm::kParts);
  if (!value) {
    const bool has_none = value.error().code == Code::kDamage && schema.parts == RecordSchema::Parts::kOptional;
    if (has_none) return parts;
    return value.error();
  }
  const Inside inside = Inside::of(*value, record);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto part = find_part(inside, 0, paths[i]);
    if (!part) continue;
    if (inside.kind(*part) == Inside::Kind::kText) {
      parts[i] = inside.text(*part);
      continue;
    }
    const Extent slice = inside.slice(*part);
    parts[i] = as_text(record.subspan(static_cast<std::size_t>(slice.begin), static_cast<std::size_t>(slice.size)));
  }
  return parts;
}

}  // namespace recordfs
