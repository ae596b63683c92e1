#include "fusefs/tree/inside.h"

#include <algorithm>
#include <utility>

#include "fusefs/tree/generated_files.h"
#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

constexpr std::string_view kTableName = "names.tsv";
constexpr std::size_t kNumbersOfAPart = 3;
constexpr std::uint64_t kTreeNode = 64;  // memory of a map's node, approximately

}  // namespace

Result<Inside> Inside::of(const Parts& parts) {
  if (parts.size() >= (std::size_t{1} << kNumberBits) / kNumbersOfAPart) {
    return Error{.code = Code::kLimit, .detail = "too many parts"};
  }
  Inside inside;
  inside.items_.reserve(parts.size() + 1);
  TypeNumbers types;
  for (const Part& part : parts) {
    TRY(inside.add(part, types));
  }
  inside.group_by_directory();
  for (std::uint32_t i = 0; i < inside.items_.size(); ++i) {
    if (inside.items_[i].kind == PartKind::kDirectory) inside.name_entries(parts, i);
  }
  return inside;
}

// Also increments the size of its directory.
Result<void> Inside::add(const Part& part, TypeNumbers& types) {
  const std::size_t parent = part.parent ? *part.parent + 1 : 0;
  if (parent >= items_.size() || items_[parent].kind != PartKind::kDirectory) {
    return Error{.code = Code::kDamage, .detail = "a part without a directory"};
  }
  ++items_[parent].extent.size;
  Item item{.kind = part.kind, .parent = static_cast<std::uint32_t>(parent)};
  if (part.kind == PartKind::kSlice) item.extent = part.extent;
  if (part.kind == PartKind::kSlice && !part.type.empty()) {
    const auto [known, is_new] = types.try_emplace(part.type, static_cast<std::uint32_t>(types_.size()));
    if (is_new) types_.push_back(part.type);
    item.type = known->second;
  }
  if (part.kind == PartKind::kText) {
    item.extent = {texts_.size(), part.text.size()};
    texts_ += part.text;
  }
  items_.push_back(item);
  return {};
}

void Inside::group_by_directory() {
  std::uint64_t begin = 0;
  for (Item& item : items_) {
    if (item.kind != PartKind::kDirectory) continue;
    item.extent.begin = begin;
    begin += std::exchange(item.extent.size, 0);
  }
  listed_.resize(items_.size() - 1);
  for (std::uint32_t i = 1; i < items_.size(); ++i) {
    Extent& entries = items_[items_[i].parent].extent;
    listed_[static_cast<std::size_t>(entries.begin + entries.size++)] = i;
  }
  sorted_ = listed_;
}

void Inside::name_entries(const Parts& parts, std::uint32_t directory) {
  const auto begin = static_cast<std::ptrdiff_t>(items_[directory].extent.begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(items_[directory].extent.size);
  std::vector<std::string_view> keys;
  keys.reserve(static_cast<std::size_t>(end - begin));
  for (auto entry = listed_.begin() + begin; entry != listed_.begin() + end; ++entry) {
    keys.emplace_back(parts[*entry - 1].key);
  }
  const std::vector<std::string> names = names_for(keys, {kTableName});
  for (std::size_t i = 0; i < names.size(); ++i) {
    Item& item = items_[listed_[static_cast<std::size_t>(begin) + i]];
    item.name_begin = static_cast<std::uint32_t>(names_.size());
    item.name_size = static_cast<std::uint8_t>(names[i].size());
    names_ += names[i];
  }
  std::sort(sorted_.begin() + begin, sorted_.begin() + end,
            [this](std::uint32_t a, std::uint32_t b) { return name_of(items_[a]) < name_of(items_[b]); });
  if (std::ranges::equal(keys, names)) return;
  const std::string table = names_table(keys, names);
  tables_[directory] = {texts_.size(), table.size()};
  texts_ += table;
}

std::optional<Extent> Inside::table(std::uint64_t part) const {
  const auto found = tables_.find(part - items_.size());
  if (part < items_.size() || found == tables_.end()) return std::nullopt;
  return found->second;
}

bool Inside::contains(std::uint64_t part) const { return part < items_.size() || table(part) || message_of(part); }

std::optional<std::uint64_t> Inside::message_of(std::uint64_t part) const {
  if (part / items_.size() != kNumbersOfAPart - 1) return std::nullopt;
  const std::uint64_t message = part % items_.size();
  if (items_[static_cast<std::size_t>(message)].type == 0) return std::nullopt;
  return message;
}

std::optional<std::uint64_t> Inside::find_listed(std::uint64_t directory, std::string_view name) const {
  const Extent entries = items_[static_cast<std::size_t>(directory)].extent;
  const auto begin = sorted_.begin() + static_cast<std::ptrdiff_t>(entries.begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(entries.size);
  const auto found = std::lower_bound(
      begin, end, name, [this](std::uint32_t part, std::string_view wanted) { return name_of(items_[part]) < wanted; });
  if (found != end && name_of(items_[*found]) == name) return *found;
  return std::nullopt;
}

std::optional<std::uint64_t> Inside::find(std::uint64_t directory, std::string_view name) const {
  if (const auto listed = find_listed(directory, name)) return listed;
  if (name.ends_with(kJsonSuffix)) {
    const auto message = find_listed(directory, name.substr(0, name.size() - kJsonSuffix.size()));
    if (message && items_[static_cast<std::size_t>(*message)].type != 0) {
      return (kNumbersOfAPart - 1) * items_.size() + *message;
    }
  }
  if (name == kTableName && tables_.contains(directory)) return items_.size() + directory;
  return std::nullopt;
}

std::optional<std::uint64_t> Inside::at(std::uint64_t directory, std::uint64_t place) const {
  const Extent entries = items_[static_cast<std::size_t>(directory)].extent;
  if (place < entries.size) return listed_[static_cast<std::size_t>(entries.begin + place)];
  if (place == entries.size && tables_.contains(directory)) return items_.size() + directory;
  return std::nullopt;
}

std::uint64_t Inside::parent(std::uint64_t part) const {
  if (const auto message = message_of(part)) part = *message;
  if (part >= items_.size()) return part - items_.size();
  return items_[static_cast<std::size_t>(part)].parent;
}

PartKind Inside::kind(std::uint64_t part) const {
  return part < items_.size() ? items_[static_cast<std::size_t>(part)].kind : PartKind::kText;
}

std::string_view Inside::name(std::uint64_t part) const {
  return part < items_.size() ? name_of(items_[static_cast<std::size_t>(part)]) : kTableName;
}

std::uint64_t Inside::size(std::uint64_t part) const {
  return kind(part) == PartKind::kDirectory ? 0 : slice(part).size;
}

Extent Inside::slice(std::uint64_t part) const {
  return part < items_.size() ? items_[static_cast<std::size_t>(part)].extent : table(part).value_or(Extent{});
}

std::string_view Inside::text(std::uint64_t part) const {
  const Extent extent = slice(part);
  return std::string_view(texts_).substr(static_cast<std::size_t>(extent.begin), static_cast<std::size_t>(extent.size));
}

std::string_view Inside::type(std::uint64_t part) const {
  return part < items_.size() ? types_[items_[static_cast<std::size_t>(part)].type] : std::string_view{};
}

std::uint64_t Inside::memory() const {
  std::uint64_t types = 0;
  for (const std::string& type : types_) types += sizeof(type) + type.capacity();
  return sizeof(*this) + items_.capacity() * sizeof(Item) +
         (listed_.capacity() + sorted_.capacity()) * sizeof(std::uint32_t) + tables_.size() * kTreeNode +
         names_.capacity() + texts_.capacity() + types;
}

}  // namespace recordfs
