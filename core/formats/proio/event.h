// An Event message as its fields tell it: tags, entries and types, as places and views of its bytes.
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

// Of those with one key the last counts, and they stand in the order of their keys. Names are views of the event.
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
  std::vector<std::uint64_t> ids;  // of all tags
  std::vector<EventEntry> entries;
  std::vector<EventType> types;

  // The name of an entry's type as it stands in the event, and as a protobuf message's, which is text; "" where the
  // event has none.
  std::string_view type_of(const EventEntry& entry) const;
  std::string_view message_type(const EventEntry& entry) const;
};

// The place of a key among items in the order of their keys; the number of items where there is none.
template <class Item>
std::size_t place_of(const std::vector<Item>& items, std::uint64_t key) {
  const auto found = std::ranges::lower_bound(items, key, {}, &Item::key);
  return static_cast<std::size_t>((found != items.end() && found->key == key ? found : items.end()) - items.begin());
}

// Fails with kDamage when the bytes are no Event message, and with kLimit when it has more tags, entries, types and ids
// in tags together than the limits allow parts. Any thread; the event is not copied.
Result<Event> read_event(Bytes bytes, const Limits& limits);

}  // namespace recordfs::proio
