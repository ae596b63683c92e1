#include "core/decoding/record_part.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "core/decoding/file_names.h"
#include "core/decoding/inside.h"

namespace recordfs {
namespace {

constexpr std::size_t kLongestPlainName =
    200;  // of an entry whose name does not end in a hash, as names_for() makes them

std::optional<std::uint64_t> entry_of(const Inside& inside, std::uint64_t directory, std::string_view key) {
  auto entry = inside.find(directory, names_for({key}, {}).front());
  if (!entry) entry = inside.find(directory, key);  // the name of the file
  return entry && !inside.message_of(*entry) ? entry : std::nullopt;
}

// Finds the part at a path. A slash in the path separates names or belongs to one, so each place is tried, once.
class PartSearch {
 public:
  PartSearch(const Inside& inside, std::string_view path) : inside_(inside), path_(path) {}

  // Returns the part, which is not a directory, at the path from byte `begin` on, below a directory.
  std::optional<std::uint64_t> find(std::uint64_t directory, std::size_t begin) {
    if (!seen_.emplace(directory, begin).second) return std::nullopt;
    const std::size_t longest = has_hashed_names(directory) ? path_.size() : begin + kLongestPlainName;
    for (std::size_t end = next_slash(begin); end <= longest; end = next_slash(end + 1)) {
      const auto entry = entry_of(inside_, directory, path_.substr(begin, end - begin));
      const bool is_directory = entry && inside_.kind(*entry) == Inside::Kind::kDirectory;
      if (end == path_.size()) return is_directory ? std::nullopt : entry;
      if (!is_directory) continue;
      if (const auto found = find(*entry, end + 1)) return found;
    }
    return std::nullopt;
  }

 private:
  std::size_t next_slash(std::size_t from) const { return std::min(path_.find('/', from), path_.size()); }

  bool has_hashed_names(std::uint64_t directory) const {
    for (std::uint64_t place = 0;; ++place) {
      const auto entry = inside_.at(directory, place);
      if (!entry) return false;
      if (!inside_.message_of(*entry) && inside_.name(*entry).find('~') != std::string_view::npos) return true;
    }
  }

  const Inside& inside_;
  const std::string_view path_;
  std::set<std::pair<std::uint64_t, std::size_t>> seen_;
};

}  // namespace

Result<std::vector<std::optional<std::string>>> parts_of_record(const RecordSchema& schema, Bytes record,
                                                                std::span<const std::string> paths) {
  std::vector<std::optional<std::string>> parts(paths.size());
  if (record.size() > schema.largest_record_with_parts) {
    return Error{.code = Code::kLimit, .detail = "record too large for its parts to be read"};
  }
  if (!schema.value) return parts;
  const auto value = schema.value(record, ValueForm::kParts);
  if (!value) {
    const bool has_none = value.error().code == Code::kDamage && schema.parts == RecordSchema::Parts::kOptional;
    if (has_none) return parts;
    return value.error();
  }
  const Inside inside = Inside::of(*value, record);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto part = PartSearch(inside, paths[i]).find(0, 0);
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
