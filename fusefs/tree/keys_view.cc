// keys/: the last value of each key in a container of key changes.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fusefs/tree/view.h"

namespace recordfs {
namespace {

// How many keys of a listing have attributes. Each costs a row of InodeTable.
constexpr std::uint64_t kWithAttributes = 250000;

constexpr Node kFamilies{NodeKind::kStatic, kKeyFamilies};

constexpr std::string_view kHeader = "name\tkey\n";
constexpr std::size_t kRowsOfABlock = 256;  // keys per block

// names.tsv in a directory of keys. It has a row for each listed key whose file name differs from the key. There may be
// very many rows, so they are generated when read. Immutable and thread-safe.
class KeyNames {
 public:
  // Iterates over all keys of the family.
  KeyNames(std::shared_ptr<const KeyTable> table, std::uint32_t family)
      : table_(std::move(table)), places_(table_->places(family)) {
    std::uint64_t end = kHeader.size();
    for (std::size_t place = places_.begin; place < places_.end; ++place) {
      const bool begins_block = (place - places_.begin) % kRowsOfABlock == 0;
      if (begins_block) lines_.blocks.push_back({place, lines_.blocks.empty() ? 0 : end});
      end += row(place).size();
    }
    if (end > kHeader.size()) lines_.size = end;
  }

  // Returns the size in bytes. 0 means that there are no rows, and so no file.
  std::uint64_t size() const { return lines_.size; }

  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const {
    return lines_.read(context, offset, length, [&](std::size_t block) -> Result<Slice> {
      std::string text(block == 0 ? kHeader : std::string_view());
      const auto first = static_cast<std::size_t>(lines_.blocks[block].first);
      for (std::size_t place = first; place < std::min(first + kRowsOfABlock, places_.end); ++place) text += row(place);
      ASSIGN_OR_RETURN(auto bytes, Buffer::copy_of(context, as_bytes(text)));
      return owned(std::move(bytes));
    });
  }

 private:
  // Returns an empty string for a key that equals its name.
  std::string row(std::size_t place) const {
    const KeyTable::Listed listed = table_->at(place);
    const std::string name = key_file_name(listed.key, listed.number);
    return name == listed.key ? std::string() : fmt::format("{}\t{}\n", name, percent_encoded(listed.key, ""));
  }

  const std::shared_ptr<const KeyTable> table_;
  const KeyTable::Places places_;
  LineTable lines_;  // `first`: a place in the table; the first block also has the header
};

// Returns the size of a key's file, which is never 0 if the value is unreadable.
std::uint64_t size_of(FoundKey::State state, std::uint64_t value_size) {
  return state == FoundKey::State::kValue ? value_size : 1;
}

// Returns whether a listing has keys of a family other than the first.
bool lists_families(const KeyTable& table) { return table.places(0).size() < table.size(); }

// Returns the family of a directory of keys or of its names.tsv.
std::uint32_t family_of(Node node) {
  return node.kind == NodeKind::kStatic ? 0 : static_cast<std::uint32_t>(node.value);
}

class KeysView : public View {
 public:
  using View::View;

  Result<Node> lookup(const RequestContext&, Node directory, std::string_view name) const override {
    return directory == kFamilies ? lookup_family(name) : lookup_key(family_of(directory), name);
  }
  Result<void> list(const RequestContext&, Node directory, std::uint64_t place, const Emit& emit) const override {
    return directory == kFamilies ? list_families(place, emit) : list_keys(family_of(directory), place, emit);
  }

  Result<std::uint64_t> size(const RequestContext&, Node file) const override {
    if (file.kind == NodeKind::kKeyNames) {
      ASSIGN_OR_RETURN(const auto names, names_of(family_of(file)));
      return names->size();
    }
    ASSIGN_OR_RETURN(const auto found, keys().find(file.value));
    return size_of(found.state, found.value.size);
  }

  Result<Slice> read(const RequestContext& context, Node file, std::uint64_t offset,
                     std::uint64_t length) const override {
    if (file.kind == NodeKind::kKeyNames) {
      ASSIGN_OR_RETURN(const auto names, names_of(family_of(file)));
      return names->read(context, offset, length);
    }
    ASSIGN_OR_RETURN(const auto found, keys().find(file.value));
    return store().records().read_value(context, found, offset, length);
  }

  std::uint64_t values() const override { return std::uint64_t{1} << 32; }  // families

 private:
  Result<Node> lookup_family(std::string_view name) const {
    const auto family = number_from(name);
    if (!family || *family == 0 || *family > UINT32_MAX || std::to_string(*family) != name) return no_such_name();
    ASSIGN_OR_RETURN(const auto table, keys().table());
    const bool is_there = table->has_more() || table->places(static_cast<std::uint32_t>(*family)).size() > 0;
    if (!is_there) return no_such_name();
    return Node{NodeKind::kKeyFamily, *family};
  }

  Result<void> list_families(std::uint64_t place, const Emit& emit) const {
    ASSIGN_OR_RETURN(const auto table, keys().table());
    std::vector<std::uint32_t> families = table->families();
    std::erase(families, 0u);
    for (; place < families.size(); ++place) {
      const std::uint32_t family = families[static_cast<std::size_t>(place)];
      if (!emit({std::to_string(family), {NodeKind::kKeyFamily, family}, FileType::kDirectory, 0, place + 1})) break;
    }
    return {};
  }

  Result<Node> lookup_key(std::uint32_t family, std::string_view name) const {
    if (name == kNamesTable) {
      ASSIGN_OR_RETURN(const auto names, names_of(family));
      if (names->size() == 0) return no_such_name();
      return Node{NodeKind::kKeyNames, family};
    }
    if (name == kKeyFamiliesName) {
      ASSIGN_OR_RETURN(const auto table, keys().table());
      const bool is_there = lists_families(*table) || table->has_more();
      if (family != 0 || !is_there) return no_such_name();
      return kFamilies;
    }
    auto number = key_number_in(name);
    if (!number) {
      const auto decoded = percent_decoded(name, "/");
      if (!decoded) return no_such_name();
      number = key_number(family, *decoded);
      if (key_file_name(*decoded, *number) != name) return no_such_name();
    }
    ASSIGN_OR_RETURN(const auto found, keys().find(*number));
    const bool is_it = found.family == family && key_file_name(found.key, *number) == name;
    if (!is_it && found.state != FoundKey::State::kTwice) return no_such_name();
    return Node{NodeKind::kKey, *number};
  }

  Result<void> list_keys(std::uint32_t family, std::uint64_t place, const Emit& emit) const {
    ASSIGN_OR_RETURN(const auto table, keys().table());
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
      if (with_families && !emit({kKeyFamiliesName, kFamilies, FileType::kDirectory, 0, place + 1})) return {};
      ++place;
    }
    ASSIGN_OR_RETURN(const auto names, names_of(family));
    if (place == places.size() + 1 && names->size() > 0) {
      emit({kNamesTable, {NodeKind::kKeyNames, family}, FileType::kRegular, names->size(), place + 1});
    }
    return {};
  }

  Result<std::shared_ptr<const KeyNames>> names_of(std::uint32_t family) const {
    ASSIGN_OR_RETURN(const auto table, keys().table());
    return names_.get(family, [&]() -> Result<KeyNames> { return KeyNames(table, family); });
  }

  KeyIndex& keys() const { return *store().keys(); }

  const KeptValues<KeyNames> names_{};  // by family
};

}  // namespace

ViewPointer make_keys_view(const ContainerTree& tree) {
  return tree.store().keys() == nullptr ? nullptr : std::make_unique<KeysView>(tree);
}

}  // namespace recordfs
