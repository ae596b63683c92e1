#include "core/formats/proio/event.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/base/utf8.h"
#include "core/formats/chunk.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint64_t kFixedParts = 3;
constexpr std::uint64_t kFixedValues = 4;
constexpr std::uint64_t kMostOfTag = 3;  // values, without its ids
constexpr std::uint64_t kOfEntry = 3;

// Sorted by key; of several items with one key only the last is present.
struct EventEntry {
  std::uint64_t key = 0;
  std::uint64_t type = 0;
  Bytes payload{};
};

struct EventType {
  std::uint64_t key = 0;
  std::string_view name;
};

struct EventTag {
  std::string_view key;
  Extent ids{};  // in Event::ids
};

struct Event {
  std::vector<EventTag> tags;
  std::vector<std::uint64_t> ids;  // the ids of all tags
  std::vector<EventEntry> entries;
  std::vector<EventType> types;

  // Return the name of an entry's type: the bytes in the event, and the name of the protobuf message, which is UTF-8.
  // Both return "" if the event has none.
  std::string_view type_of(const EventEntry& entry) const;
  std::string_view message_type(const EventEntry& entry) const;
};

// Returns the index of a key in sorted items, or the number of items if it is absent.
template <class Item>
std::size_t place_of(const std::vector<Item>& items, std::uint64_t key) {
  const auto found = std::ranges::lower_bound(items, key, {}, &Item::key);
  return static_cast<std::size_t>((found != items.end() && found->key == key ? found : items.end()) - items.begin());
}

std::string_view Event::type_of(const EventEntry& entry) const {
  const std::size_t type = place_of(types, entry.type);
  return type < types.size() ? types[type].name : std::string_view{};
}

std::string_view Event::message_type(const EventEntry& entry) const {
  const std::string_view name = type_of(entry);
  if (!is_utf8(name)) return {};
  return name.starts_with('.') ? name.substr(1) : name;
}

// Sorts items by key and keeps the last one of each key.
template <class Item>
void settle(std::vector<Item>& items) {
  if (!std::ranges::is_sorted(items, {}, &Item::key)) std::ranges::stable_sort(items, {}, &Item::key);
  const auto first =
      std::unique(items.rbegin(), items.rend(), [](const Item& a, const Item& b) { return a.key == b.key; });
  items.erase(items.begin(), first.base());
}

class EventReader {
 public:
  // The two directories and the table of every event are counted too.
  explicit EventReader(const Limits& limits)
      : limits_(limits), left_(limits.parts_per_record - std::min(limits.parts_per_record, kFixedParts)) {}

  Result<Event> read(Bytes bytes) {
    auto read = for_each(bytes, [this](const Field& field, Bytes content) { return read_field(field, content); });
    if (!read && read.error().code == Code::kDamage) {
      read.error().detail = "the event is not a valid Event message";
    }
    TRY(std::move(read));
    settle(event_.tags);
    settle(event_.entries);
    settle(event_.types);
    return std::move(event_);
  }

 private:
  // Calls `take` for each field. Fails with kDamage if `message` is invalid, and as `take` does.
  template <class Take>
  Result<void> for_each(Bytes message, Take take) {
    MessageReader reader(message, limits_.nesting_depth);
    while (reader.next()) {
      TRY(take(reader.field(), reader.content()));
    }
    return reader.finish();
  }

  Result<void> read_field(const Field& field, Bytes content) {
    if (field.is(event_field::kTag, WireType::kLengthDelimited)) return read_tag(content);
    if (field.is(event_field::kEntry, WireType::kLengthDelimited)) return read_entry(content);
    if (field.is(event_field::kType, WireType::kLengthDelimited)) return read_type(content);
    return {};
  }

  Result<void> read_tag(Bytes map_entry) {
    EventTag tag{.key = {}, .ids = {event_.ids.size(), 0}};
    TRY(for_each(map_entry, [&](const Field& field, Bytes content) -> Result<void> {
      if (field.is(map_field::kKey, WireType::kLengthDelimited)) tag.key = as_text(content);
      if (field.is(map_field::kValue, WireType::kLengthDelimited)) return read_ids(content);
      return {};
    }));
    TRY(take_one());
    tag.ids.size = event_.ids.size() - tag.ids.begin;
    event_.tags.push_back(tag);
    return {};
  }

  Result<void> read_ids(Bytes tag) {
    return for_each(tag, [&](const Field& field, Bytes content) -> Result<void> {
      if (field.is(event_field::kTagEntry, WireType::kVarint)) return add_id(field.value);
      if (!field.is(event_field::kTagEntry, WireType::kLengthDelimited)) return {};
      Cursor packed(content);
      while (!packed.at_end()) {
        const std::uint64_t id = packed.varint64();
        if (!packed.ok()) return Error{.code = Code::kDamage, .detail = "invalid list of entries in a tag"};
        TRY(add_id(id));
      }
      return {};
    });
  }

  Result<void> add_id(std::uint64_t id) {
    TRY(take_one());
    event_.ids.push_back(id);
    return {};
  }

  Result<void> read_entry(Bytes map_entry) {
    EventEntry entry;
    TRY(for_each(map_entry, [&](const Field& field, Bytes content) -> Result<void> {
      if (field.is(map_field::kKey, WireType::kVarint)) entry.key = field.value;
      if (field.is(map_field::kValue, WireType::kLengthDelimited)) return read_any(content, entry);
      return {};
    }));
    TRY(take_one());
    event_.entries.push_back(entry);
    return {};
  }

  Result<void> read_any(Bytes message, EventEntry& entry) {
    return for_each(message, [&](const Field& field, Bytes content) -> Result<void> {
      if (field.is(event_field::kAnyType, WireType::kVarint)) entry.type = field.value;
      if (field.is(event_field::kAnyPayload, WireType::kLengthDelimited)) entry.payload = content;
      return {};
    });
  }

  Result<void> read_type(Bytes map_entry) {
    EventType type;
    TRY(for_each(map_entry, [&](const Field& field, Bytes content) -> Result<void> {
      if (field.is(map_field::kKey, WireType::kVarint)) type.key = field.value;
      if (field.is(map_field::kValue, WireType::kLengthDelimited)) type.name = as_text(content);
      return {};
    }));
    TRY(take_one());
    event_.types.push_back(type);
    return {};
  }

  // Counts a tag, entry, type or tagged id.
  Result<void> take_one() {
    if (left_ == 0) {
      return Error{.code = Code::kLimit,
                   .detail = fmt::format("the event has more than {} parts", limits_.parts_per_record)};
    }
    --left_;
    return {};
  }

  const Limits& limits_;
  std::uint64_t left_;  // items that the event may still have
  Event event_;
};

// Appends text escaped for a table cell.
void append_escaped(std::string& cell, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      cell += "\\\\";
    } else if (byte < 0x20 || byte == 0x7F) {
      fmt::format_to(std::back_inserter(cell), "\\x{:02x}", byte);
    } else {
      cell += c;
    }
  }
}

// A type name may be repeated for each mention of an entry, so all of them may be much longer than the event.
Error too_long(const Limits& limits) {
  return {.code = Code::kLimit, .detail = fmt::format("the types of the event exceed {} bytes", limits.metadata_bytes)};
}

Result<std::string> types_table(const Event& event, const Limits& limits) {
  std::string text = "entry\ttype\tname\n";
  for (const EventEntry& entry : event.entries) {
    fmt::format_to(std::back_inserter(text), "{}\t{}\t", entry.key, entry.type);
    append_escaped(text, event.type_of(entry));
    text += '\n';
    if (text.size() > limits.metadata_bytes) return too_long(limits);
  }
  return text;
}

class ValueMaker {
 public:
  ValueMaker(const Event& event, const Limits& limits, ValueForm form)
      : event_(event), limits_(limits), is_json_(form == ValueForm::kJson), shown_(event.entries.size()) {}

  Result<Value> make() {
    if (is_json_ && most_values() > limits_.parts_per_record) {
      return Error{.code = Code::kLimit,
                   .detail = fmt::format("the event has more than {} values", limits_.parts_per_record)};
    }
    Value::Object members;
    add_tags(members);
    Value::List entries;
    entries.reserve(event_.entries.size());
    for (const EventEntry& entry : event_.entries) entries.push_back(value_of(entry));
    add_member(members, "entries", std::move(entries));
    if (is_json_) return Value{std::move(members)};
    ASSIGN_OR_RETURN(auto types, types_table(event_, limits_));
    if (types_size_ > limits_.metadata_bytes) return too_long(limits_);
    add_member(members, "types.tsv", std::move(types));
    return Value{std::move(members)};
  }

 private:
  std::uint64_t most_values() const {
    return kFixedValues + kMostOfTag * event_.tags.size() + event_.ids.size() + kOfEntry * event_.entries.size();
  }

  void add_tags(Value::Object& members) {
    Value::Object tags;
    Value::List other_tags;
    tags.reserve(event_.tags.size());
    for (const EventTag& tag : event_.tags) {
      if (!is_json_ || is_utf8(tag.key)) {
        add_member(tags, tag.key, list_of(tag));
      } else {
        Value::Object& other = other_tags.emplace_back().is.emplace<Value::Object>();
        add_member(other, "tag", as_bytes(tag.key));
        add_member(other, "ids", list_of(tag));
      }
    }
    add_member(members, "tags", std::move(tags));
    if (!other_tags.empty()) add_member(members, "other_tags", std::move(other_tags));
  }

  // Returns the ids of a tag, or as parts the entries that have them, each once.
  Value::List list_of(const EventTag& tag) {
    Value::List list;
    list.reserve(static_cast<std::size_t>(tag.ids.size));
    ++tags_;
    for (std::uint64_t i = tag.ids.begin; i < tag.ids.begin + tag.ids.size; ++i) {
      const std::uint64_t id = event_.ids[static_cast<std::size_t>(i)];
      if (is_json_) {
        list.emplace_back().is.emplace<std::uint64_t>(id);
        continue;
      }
      const std::size_t place = place_of(event_.entries, id);
      if (place < event_.entries.size() && std::exchange(shown_[place], tags_) != tags_) {
        list.push_back(value_of(event_.entries[place]));
      }
    }
    return list;
  }

  Value value_of(const EventEntry& entry) {
    const Message message{event_.message_type(entry), entry.payload};
    types_size_ += message.type.size();
    Value::Object members;
    members.reserve(2);
    add_member(members, "id", entry.key);
    add_member(members, "", message);
    return {std::move(members)};
  }

  const Event& event_;
  const Limits& limits_;
  const bool is_json_;
  std::uint64_t types_size_ = 0;      // total size of the types of all messages, in bytes
  std::uint32_t tags_ = 0;            // tags so far
  std::vector<std::uint32_t> shown_;  // for each entry, the last tag that lists it, from 1
};

}  // namespace

Result<Value> value_of_event(Bytes bytes, const Limits& limits, ValueForm form) {
  ASSIGN_OR_RETURN(const auto event, EventReader(limits).read(bytes));
  return ValueMaker(event, limits, form).make();
}

}  // namespace recordfs::proio
