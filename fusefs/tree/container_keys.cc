// ContainerTree's keys/: the last value of each key in a container of key changes.
#include <algorithm>
#include <string>
#include <utility>

#include "fusefs/tree/container_tree.h"
#include "fusefs/tree/key_names.h"
#include "fusefs/tree/names.h"

namespace recordfs {
namespace {

// How many keys of a listing have attributes. Each costs a row of KnownRecords.
constexpr std::uint64_t kWithAttributes = 250000;

// Returns the size of a key's file, which is never 0 if the value is unreadable.
std::uint64_t size_of(FoundKey::State state, std::uint64_t value_size) {
  return state == FoundKey::State::kValue ? value_size : 1;
}

// Returns whether a listing has keys of a family other than the first.
bool lists_families(const KeyTable& table) { return table.places(0).size() < table.size(); }

}  // namespace

Result<std::shared_ptr<const KeyTable>> ContainerTree::key_table() const {
  KeyIndex* keys = store_->keys();
  if (keys == nullptr) return no_such_name();
  return keys->table();
}

Result<FoundKey> ContainerTree::key(std::uint64_t number) const {
  KeyIndex* keys = store_->keys();
  if (keys == nullptr) return no_such_name();
  return keys->find(number);
}

Result<std::shared_ptr<const KeyNames>> ContainerTree::key_names(std::uint32_t family) const {
  ASSIGN_OR_RETURN(const auto table, key_table());
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = key_names_.find(family); known != key_names_.end()) return known->second;
  }
  auto made = std::make_shared<const KeyNames>(table, family);
  const std::lock_guard lock(mutex_);
  return key_names_.try_emplace(family, std::move(made)).first->second;
}

Result<Node> ContainerTree::lookup_key(std::uint32_t family, std::string_view name) const {
  if (name == kKeyNamesFile) {
    ASSIGN_OR_RETURN(const auto names, key_names(family));
    if (names->size() == 0) return no_such_name();
    return Node{NodeKind::kKeyNames, family};
  }
  if (name == kKeyFamiliesName) {
    ASSIGN_OR_RETURN(const auto table, key_table());
    const bool is_there = lists_families(*table) || table->has_more();
    if (family != 0 || !is_there) return no_such_name();
    return Node{NodeKind::kStatic, kKeyFamilies};
  }
  auto number = key_number_in(name);
  if (!number) {
    const auto decoded = percent_decoded(name, "/");
    if (!decoded) return no_such_name();
    number = key_number(family, *decoded);
    if (key_file_name(*decoded, *number) != name) return no_such_name();
  }
  ASSIGN_OR_RETURN(const auto found, key(*number));
  const bool is_it = found.family == family && key_file_name(found.key, *number) == name;
  if (!is_it && found.state != FoundKey::State::kTwice) return no_such_name();
  return Node{NodeKind::kKey, *number};
}

Result<Node> ContainerTree::lookup_key_family(std::string_view name) const {
  const auto family = number_from(name);
  if (!family || *family == 0 || *family > UINT32_MAX || std::to_string(*family) != name) return no_such_name();
  ASSIGN_OR_RETURN(const auto table, key_table());
  const bool is_there = table->has_more() || table->places(static_cast<std::uint32_t>(*family)).size() > 0;
  if (!is_there) return no_such_name();
  return Node{NodeKind::kKeyFamily, *family};
}

Result<void> ContainerTree::list_keys(std::uint32_t family, std::uint64_t place, const Emit& emit) const {
  ASSIGN_OR_RETURN(const auto table, key_table());
  const KeyTable::Places places = table->places(family);
  for (; place < places.size(); ++place) {
    const KeyTable::Listed listed = table->at(places.begin + static_cast<std::size_t>(place));
    std::optional<std::uint64_t> size;
    if (place < kWithAttributes) size = size_of(listed.state, listed.value_size);
    const std::string name = key_file_name(listed.key, listed.number);
    if (!emit({name, {NodeKind::kKey, listed.number}, FileType::kRegular, size, place + 1})) return {};
  }
  const bool with_families = family == 0 && lists_families(*table);
  if (place == places.size()) {
    if (with_families &&
        !emit({kKeyFamiliesName, {NodeKind::kStatic, kKeyFamilies}, FileType::kDirectory, 0, place + 1})) {
      return {};
    }
    ++place;
  }
  ASSIGN_OR_RETURN(const auto names, key_names(family));
  if (place == places.size() + 1 && names->size() > 0) {
    emit({kKeyNamesFile, {NodeKind::kKeyNames, family}, FileType::kRegular, names->size(), place + 1});
  }
  return {};
}

Result<void> ContainerTree::list_key_families(std::uint64_t place, const Emit& emit) const {
  ASSIGN_OR_RETURN(const auto table, key_table());
  std::vector<std::uint32_t> families = table->families();
  std::erase(families, 0u);
  for (; place < families.size(); ++place) {
    const std::uint32_t family = families[static_cast<std::size_t>(place)];
    if (!emit({std::to_string(family), {NodeKind::kKeyFamily, family}, FileType::kDirectory, 0, place + 1})) break;
  }
  return {};
}

Result<NodeAttributes> ContainerTree::key_attributes(Node node) const {
  if (node.kind == NodeKind::kKeyNames) {
    ASSIGN_OR_RETURN(const auto names, key_names(static_cast<std::uint32_t>(node.value)));
    return NodeAttributes{FileType::kRegular, names->size()};
  }
  ASSIGN_OR_RETURN(const auto found, key(node.value));
  return NodeAttributes{FileType::kRegular, size_of(found.state, found.value.size)};
}

Result<Slice> ContainerTree::read_key(Node node, std::uint64_t offset, std::uint64_t length) const {
  if (node.kind == NodeKind::kKeyNames) {
    ASSIGN_OR_RETURN(const auto names, key_names(static_cast<std::uint32_t>(node.value)));
    return names->read(offset, length);
  }
  ASSIGN_OR_RETURN(const auto found, key(node.value));
  return store_->records().read_value(found, offset, length);
}

}  // namespace recordfs
