// A parsed Event message: tags, entries and types, as positions and views of its bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"

namespace recordfs::proio {

// Sorted by key; of several items with one key only the last is present. Names are views of the event.
struct EventEntry {
  std::uint64_t key = 0;
  std::uint64_t type = 0;
  Extent payload{};  // in the event
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

// Parses an Event without copying it. Fails with kDamage if the bytes are not an Event message. Fails with kLimit if
// tags, entries, types and tagged ids together exceed Limits::parts_per_record. Thread-safe.
Result<Event> read_event(Bytes bytes, const Limits& limits);

}  // namespace recordfs::proio
