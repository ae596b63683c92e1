#include "core/formats/proio/event.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"
#include "core/base/utf8.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

using protobuf::Field;
using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint64_t kFixedParts = 3;

// Sorts items by key and keeps the last one of each key.
template <class Item>
void settle(std::vector<Item>& items) {
  if (!std::ranges::is_sorted(items, {}, &Item::key)) std::ranges::stable_sort(items, {}, &Item::key);
  const auto first =
      std::unique(items.rbegin(), items.rend(), [](const Item& a, const Item& b) { return a.key == b.key; });
  items.erase(items.begin(), first.base());
}

// Counts the items that an event may still hold: each tag, entry, type and tagged id counts.
class Room {
 public:
  // The two directories and the table of every event are counted too.
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

// A field of a message, its content, and the position of the content in the event.
struct Content {
  Field field;
  Bytes bytes;
  std::uint64_t begin = 0;
};

class EventReader {
 public:
  EventReader(const Limits& limits, Room& room) : limits_(limits), room_(room) {}

  Result<Event> read(Bytes bytes) {
    TRY(for_each({{}, bytes, 0}, [this](const Content& field) { return read_field(field); }));
    settle(event_.tags);
    settle(event_.entries);
    settle(event_.types);
    return std::move(event_);
  }

 private:
  // Calls `take` for each field. Fails with kDamage if `message` is invalid, and as `take` does.
  template <class Take>
  Result<void> for_each(const Content& message, Take take) {
    MessageReader reader(message.bytes, limits_.nesting_depth);
    while (reader.next()) {
      TRY(take(Content{reader.field(), reader.content(), message.begin + reader.content_begin()}));
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
    TRY(room_.take_one());
    event_.ids.push_back(id);
    return {};
  }
  Result<void> read_entry(const Content& map_entry);
  Result<void> read_any(const Content& message, EventEntry& entry);
  Result<void> read_type(const Content& map_entry);

  const Limits& limits_;
  Room& room_;
  Event event_;
};

Result<void> EventReader::read_tag(const Content& map_entry) {
  EventTag tag{.key = {}, .ids = {event_.ids.size(), 0}};
  TRY(for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kLengthDelimited)) tag.key = as_text(field.bytes);
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) return read_ids(field);
    return {};
  }));
  TRY(room_.take_one());
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
      if (!packed.ok()) return Error{.code = Code::kDamage, .detail = "invalid list of entries in a tag"};
      TRY(add_id(id));
    }
    return {};
  });
}

Result<void> EventReader::read_entry(const Content& map_entry) {
  EventEntry entry;
  TRY(for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kVarint)) entry.key = field.field.value;
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) return read_any(field, entry);
    return {};
  }));
  TRY(room_.take_one());
  event_.entries.push_back(entry);
  return {};
}

Result<void> EventReader::read_any(const Content& message, EventEntry& entry) {
  return for_each(message, [&](const Content& field) -> Result<void> {
    if (field.field.is(event_field::kAnyType, WireType::kVarint)) entry.type = field.field.value;
    if (field.field.is(event_field::kAnyPayload, WireType::kLengthDelimited)) {
      entry.payload = {field.begin, field.bytes.size()};
    }
    return {};
  });
}

Result<void> EventReader::read_type(const Content& map_entry) {
  EventType type;
  TRY(for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kVarint)) type.key = field.field.value;
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) type.name = as_text(field.bytes);
    return {};
  }));
  TRY(room_.take_one());
  event_.types.push_back(type);
  return {};
}

}  // namespace

std::string_view Event::type_of(const EventEntry& entry) const {
  const std::size_t type = place_of(types, entry.type);
  return type < types.size() ? types[type].name : std::string_view{};
}

std::string_view Event::message_type(const EventEntry& entry) const {
  const std::string_view name = type_of(entry);
  if (!is_utf8(name)) return {};
  return name.starts_with('.') ? name.substr(1) : name;
}

Result<Event> read_event(Bytes bytes, const Limits& limits) {
  Room room(limits);
  auto event = EventReader(limits, room).read(bytes);
  if (event) return event;
  Error error = std::move(event).error();
  if (error.code == Code::kDamage) error.detail = "the event is not a valid Event message";
  return error;
}

}  // namespace recordfs::proio
