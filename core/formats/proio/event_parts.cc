#include "core/formats/proio/event_parts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint64_t kFixedParts = 3;

// Slices of the event, as they stand in it. Of those with one key the last counts, and they stand in the order of their
// keys, once the event has been read.
struct Entry {
  std::uint64_t key = 0;
  std::uint64_t type = 0;
  Extent payload{};
};

struct Type {
  std::uint64_t key = 0;
  std::string_view name;
};

struct Tag {
  std::string_view key;
  Extent ids{};  // in Event::ids
};

struct Event {
  std::vector<Tag> tags;
  std::vector<std::uint64_t> ids;  // of all tags
  std::vector<Entry> entries;
  std::vector<Type> types;
};

// Keeps the last of each key, in the order of the keys.
template <class Item>
void settle(std::vector<Item>& items) {
  if (!std::ranges::is_sorted(items, {}, &Item::key)) std::ranges::stable_sort(items, {}, &Item::key);
  const auto first =
      std::unique(items.rbegin(), items.rend(), [](const Item& a, const Item& b) { return a.key == b.key; });
  items.erase(items.begin(), first.base());
}

// The place of a key; the number of items where there is none.
template <class Item>
std::size_t place_of(const std::vector<Item>& items, std::uint64_t key) {
  const auto found = std::ranges::lower_bound(items, key, {}, &Item::key);
  return static_cast<std::size_t>((found != items.end() && found->key == key ? found : items.end()) - items.begin());
}

// How many things an event may still hold: each tag, entry, type and id in a tag counts.
class Room {
 public:
  // Besides the two directories and the table that every event has.
  explicit Room(const Limits& limits)
      : limit_(limits.parts_per_record), left_(limit_ - std::min(limit_, kFixedParts)) {}

  Result<void> take_one() {
    if (left_ == 0) {
      return Error{.code = Code::kLimit, .detail = fmt::format("the event has more than {} parts", limit_)};
    }
    --left_;
    return {};
  }

 private:
  const std::uint64_t limit_;
  std::uint64_t left_;
};

// What a field of a message holds, and where that begins in the event.
struct Content {
  Field field;
  Bytes bytes;
  std::uint64_t begin = 0;
};

class EventReader {
 public:
  EventReader(const Limits& limits, Room& room) : limits_(limits), room_(room) {}

  Result<Event> read(Bytes bytes) {
    if (auto whole = for_each({{}, bytes, 0}, [this](const Content& field) { return read_field(field); }); !whole) {
      return std::move(whole).error();
    }
    settle(event_.tags);
    settle(event_.entries);
    settle(event_.types);
    return std::move(event_);
  }

 private:
  // Fails with kDamage when `message` is none, and as `take` does.
  template <class Take>
  Result<void> for_each(const Content& message, Take take) {
    MessageReader reader(message.bytes, limits_.nesting_depth);
    while (reader.next()) {
      auto taken = take(Content{reader.field(), reader.content(), message.begin + reader.content_begin()});
      if (!taken) return taken;
    }
    return reader.finish();
  }

  Result<void> read_field(const Content& map_entry) {
    if (map_entry.field.is(event_field::kTag, WireType::kLengthDelimited)) return read_tag(map_entry);
    if (map_entry.field.is(event_field::kEntry, WireType::kLengthDelimited)) return read_entry(map_entry);
    if (map_entry.field.is(event_field::kType, WireType::kLengthDelimited)) return read_type(map_entry);
    return {};
  }
  Result<void> read_tag(const Content& map_entry);
  Result<void> read_ids(const Content& tag);
  Result<void> add_id(std::uint64_t id) {
    if (auto fits = room_.take_one(); !fits) return fits;
    event_.ids.push_back(id);
    return {};
  }
  Result<void> read_entry(const Content& map_entry);
  Result<void> read_any(const Content& message, Entry& entry);
  Result<void> read_type(const Content& map_entry);

  const Limits& limits_;
  Room& room_;
  Event event_;
};

Result<void> EventReader::read_tag(const Content& map_entry) {
  Tag tag{.key = {}, .ids = {event_.ids.size(), 0}};
  auto whole = for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kLengthDelimited)) tag.key = as_text(field.bytes);
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) return read_ids(field);
    return {};
  });
  if (!whole) return whole;
  if (auto fits = room_.take_one(); !fits) return fits;
  tag.ids.size = event_.ids.size() - tag.ids.begin;
  event_.tags.push_back(tag);
  return {};
}

Result<void> EventReader::read_ids(const Content& tag) {
  return for_each(tag, [&](const Content& field) -> Result<void> {
    if (field.field.is(event_field::kTagEntry, WireType::kVarint)) return add_id(field.field.value);
    if (!field.field.is(event_field::kTagEntry, WireType::kLengthDelimited)) return {};
    Cursor packed(field.bytes);
    while (!packed.at_end()) {
      const std::uint64_t id = packed.varint64();
      if (!packed.ok()) return Error{.code = Code::kDamage, .detail = "a tag's list of entries is broken"};
      if (auto added = add_id(id); !added) return added;
    }
    return {};
  });
}

Result<void> EventReader::read_entry(const Content& map_entry) {
  Entry entry;
  auto whole = for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kVarint)) entry.key = field.field.value;
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) return read_any(field, entry);
    return {};
  });
  if (!whole) return whole;
  if (auto fits = room_.take_one(); !fits) return fits;
  event_.entries.push_back(entry);
  return {};
}

Result<void> EventReader::read_any(const Content& message, Entry& entry) {
  return for_each(message, [&](const Content& field) -> Result<void> {
    if (field.field.is(event_field::kAnyType, WireType::kVarint)) entry.type = field.field.value;
    if (field.field.is(event_field::kAnyPayload, WireType::kLengthDelimited)) {
      entry.payload = {field.begin, field.bytes.size()};
    }
    return {};
  });
}

Result<void> EventReader::read_type(const Content& map_entry) {
  Type type;
  auto whole = for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kVarint)) type.key = field.field.value;
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) type.name = as_text(field.bytes);
    return {};
  });
  if (!whole) return whole;
  if (auto fits = room_.take_one(); !fits) return fits;
  event_.types.push_back(type);
  return {};
}

void append_number(std::string& text, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

// As it stands in a cell of a table.
void append_escaped(std::string& cell, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      cell += "\\\\";
    } else if (byte < 0x20 || byte == 0x7F) {
      cell += fmt::format("\\x{:02x}", byte);
    } else {
      cell += c;
    }
  }
}

// The number of parts is that of the things in the event, so nothing here needs to be counted again.
class PartsMaker {
 public:
  explicit PartsMaker(const Event& event) : event_(event), shown_(event.entries.size(), 0) {}

  Parts make(std::string types) {
    parts_.reserve(event_.tags.size() + event_.ids.size() + event_.entries.size() + kFixedParts);
    add_tags();
    const std::size_t directory = add_directory("entries", std::nullopt);
    for (const Entry& entry : event_.entries) add_entry(entry, directory);
    parts_.push_back({.key = "types.tsv", .kind = PartKind::kText, .text = std::move(types)});
    return std::move(parts_);
  }

 private:
  std::size_t add_directory(std::string_view key, std::optional<std::size_t> parent) {
    parts_.push_back({.key = std::string(key), .parent = parent, .kind = PartKind::kDirectory});
    return parts_.size() - 1;
  }
  void add_entry(const Entry& entry, std::size_t parent) {
    parts_.push_back(
        {.key = std::to_string(entry.key), .parent = parent, .kind = PartKind::kSlice, .extent = entry.payload});
  }

  void add_tags() {
    const std::size_t tags = add_directory("tags", std::nullopt);
    for (const Tag& tag : event_.tags) add_tagged(tag, add_directory(tag.key, tags));
  }

  // Ids of entries that are not there have nothing to show.
  void add_tagged(const Tag& tag, std::size_t directory) {
    const auto mark = static_cast<std::uint32_t>(directory);
    for (std::uint64_t i = tag.ids.begin; i < tag.ids.begin + tag.ids.size; ++i) {
      const std::size_t place = place_of(event_.entries, event_.ids[static_cast<std::size_t>(i)]);
      if (place < event_.entries.size() && std::exchange(shown_[place], mark) != mark) {
        add_entry(event_.entries[place], directory);
      }
    }
  }

  const Event& event_;
  std::vector<std::uint32_t> shown_;  // for each entry the directory that had it last, none of which is the first part
  Parts parts_;
};

// A type's name stands there for each of its entries: so the text may be much longer than the event.
Result<std::string> types_table(const Event& event, const Limits& limits) {
  std::string text = "entry\ttype\tname\n";
  for (const Entry& entry : event.entries) {
    append_number(text, entry.key);
    text += '\t';
    append_number(text, entry.type);
    text += '\t';
    const std::size_t type = place_of(event.types, entry.type);
    if (type < event.types.size()) append_escaped(text, event.types[type].name);
    text += '\n';
    if (text.size() > limits.metadata_bytes) {
      return Error{.code = Code::kLimit,
                   .detail = fmt::format("the types of the event take more than {} bytes", limits.metadata_bytes)};
    }
  }
  return text;
}

}  // namespace

Result<Parts> parts_of_event(Bytes bytes, const Limits& limits) {
  Room room(limits);
  auto event = EventReader(limits, room).read(bytes);
  if (!event) {
    Error error = std::move(event).error();
    if (error.code == Code::kDamage) error.detail = "the event is no valid Event message";
    return error;
  }
  auto types = types_table(*event, limits);
  if (!types) return std::move(types).error();
  return PartsMaker(*event).make(std::move(*types));
}

}  // namespace recordfs::proio
