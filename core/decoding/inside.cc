#include "core/decoding/inside.h"

#include <algorithm>
#include <variant>

#include "core/base/limits.h"
#include "core/decoding/file_names.h"
#include "core/formats/part_names.h"

namespace recordfs {
namespace {

constexpr std::size_t kNumbersOfAPart = 3;
constexpr std::uint64_t kTreeNode = 64;  // memory of a map's node, approximately

// Formats limit the parts of a record. Its own directory has a number too.
static_assert((Limits().parts_per_record + kNumbersOfAPart) * kNumbersOfAPart < std::size_t{1} << Inside::kNumberBits);

}  // namespace

Inside Inside::of(const Value& value, Bytes record) {
  Inside inside;
  TypeNumbers types{{std::string_view(), 0}};
  inside.add_entries(0, value, record, types);
  inside.items_.shrink_to_fit();
  inside.listed_.shrink_to_fit();
  inside.sorted_.shrink_to_fit();
  return inside;
}

void Inside::add_entries(std::uint32_t directory, const Value& value, Bytes record, TypeNumbers& types) {
  std::vector<std::string_view> keys;
  std::vector<std::string> numbers;  // keys of a list
  std::vector<std::uint32_t> entries;
  if (const auto* list = std::get_if<Value::List>(&value.is)) {
    numbers.reserve(list->size());
    for (const Value& entry : *list) {
      keys.push_back(numbers.emplace_back(name_in_list(entry, numbers.size(), directory == 0)));
      entries.push_back(add(directory, entry, record, types));
    }
  } else if (const auto* members = std::get_if<Value::Object>(&value.is)) {
    for (const Member& member : *members) {
      keys.push_back(member.name);
      entries.push_back(add(directory, member.value, record, types));
    }
  }
  name_entries(directory, entries, keys);
}

std::uint32_t Inside::add(std::uint32_t directory, const Value& value, Bytes record, TypeNumbers& types) {
  const auto number = static_cast<std::uint32_t>(items_.size());
  Item& item = items_.emplace_back();
  item.parent = directory;
  if (const Message* message = message_in(value)) {
    item.kind = Kind::kSlice;
    item.extent = extent_in(record, message->bytes);
    const auto [known, is_new] = types.try_emplace(message->type, static_cast<std::uint32_t>(types_.size()));
    if (is_new) types_.emplace_back(message->type);
    item.type = known->second;
  } else if (const auto* bytes = std::get_if<Bytes>(&value.is)) {
    item.kind = Kind::kSlice;
    item.extent = extent_in(record, *bytes);
  } else if (std::holds_alternative<Value::List>(value.is) || std::holds_alternative<Value::Object>(value.is)) {
    add_entries(number, value, record, types);
  } else {
    item.kind = Kind::kText;
    item.extent.begin = texts_.size();
    texts_ += line_of(value);
    item.extent.size = texts_.size() - item.extent.begin;
  }
  return number;
}

void Inside::name_entries(std::uint32_t directory, const std::vector<std::uint32_t>& entries,
                          const std::vector<std::string_view>& keys) {
  items_[directory].extent = {listed_.size(), entries.size()};
  const std::vector<std::string> names = names_for(keys, {kNamesTable});
  for (std::size_t i = 0; i < names.size(); ++i) {
    Item& item = items_[entries[i]];
    item.name_begin = static_cast<std::uint32_t>(names_.size());
    item.name_size = static_cast<std::uint8_t>(names[i].size());
    names_ += names[i];
  }
  listed_.insert(listed_.end(), entries.begin(), entries.end());
  const auto sorted = sorted_.insert(sorted_.end(), entries.begin(), entries.end());
  std::sort(sorted, sorted_.end(),
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
  if (name == kNamesTable && tables_.contains(directory)) return items_.size() + directory;
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

Inside::Kind Inside::kind(std::uint64_t part) const {
  return part < items_.size() ? items_[static_cast<std::size_t>(part)].kind : Kind::kText;
}

std::string_view Inside::name(std::uint64_t part) const {
  return part < items_.size() ? name_of(items_[static_cast<std::size_t>(part)]) : kNamesTable;
}

std::uint64_t Inside::size(std::uint64_t part) const { return kind(part) == Kind::kDirectory ? 0 : slice(part).size; }

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
