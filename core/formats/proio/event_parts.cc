#include "core/formats/proio/event_parts.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

struct Any {
  std::uint64_t type = 0;
  Extent payload{};  // in the event
};

using EntryIds = std::vector<std::uint64_t>;

struct Event {
  std::map<std::string, EntryIds> tags;
  std::map<std::uint64_t, Any> entries;
  std::map<std::uint64_t, std::string> types;
};

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
  Result<void> read_ids(const Content& tag, EntryIds& ids);
  Result<void> add_id(std::uint64_t id, EntryIds& ids) {
    if (auto fits = room_.take_one(); !fits) return fits;
    ids.push_back(id);
    return {};
  }
  Result<void> read_entry(const Content& map_entry);
  Result<void> read_any(const Content& message, Any& any);
  Result<void> read_type(const Content& map_entry);

  const Limits& limits_;
  Room& room_;
  Event event_;
};

Result<void> EventReader::read_tag(const Content& map_entry) {
  std::string name;
  EntryIds ids;
  auto whole = for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kLengthDelimited)) name = as_text(field.bytes);
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) return read_ids(field, ids);
    return {};
  });
  if (!whole) return whole;
  if (auto fits = room_.take_one(); !fits) return fits;
  event_.tags.insert_or_assign(std::move(name), std::move(ids));
  return {};
}

Result<void> EventReader::read_ids(const Content& tag, EntryIds& ids) {
  return for_each(tag, [&](const Content& field) -> Result<void> {
    if (field.field.is(event_field::kTagEntry, WireType::kVarint)) return add_id(field.field.value, ids);
    if (!field.field.is(event_field::kTagEntry, WireType::kLengthDelimited)) return {};
    Cursor packed(field.bytes);
    while (!packed.at_end()) {
      const std::uint64_t id = packed.varint64();
      if (!packed.ok()) return Error{.code = Code::kDamage, .detail = "a tag's list of entries is broken"};
      if (auto added = add_id(id, ids); !added) return added;
    }
    return {};
  });
}

Result<void> EventReader::read_entry(const Content& map_entry) {
  std::uint64_t id = 0;
  Any any;
  auto whole = for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kVarint)) id = field.field.value;
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) return read_any(field, any);
    return {};
  });
  if (!whole) return whole;
  if (auto fits = room_.take_one(); !fits) return fits;
  event_.entries.insert_or_assign(id, any);
  return {};
}

Result<void> EventReader::read_any(const Content& message, Any& any) {
  return for_each(message, [&](const Content& field) -> Result<void> {
    if (field.field.is(event_field::kAnyType, WireType::kVarint)) any.type = field.field.value;
    if (field.field.is(event_field::kAnyPayload, WireType::kLengthDelimited)) {
      any.payload = {field.begin, field.bytes.size()};
    }
    return {};
  });
}

Result<void> EventReader::read_type(const Content& map_entry) {
  std::uint64_t id = 0;
  std::string name;
  auto whole = for_each(map_entry, [&](const Content& field) -> Result<void> {
    if (field.field.is(map_field::kKey, WireType::kVarint)) id = field.field.value;
    if (field.field.is(map_field::kValue, WireType::kLengthDelimited)) name = as_text(field.bytes);
    return {};
  });
  if (!whole) return whole;
  if (auto fits = room_.take_one(); !fits) return fits;
  event_.types.insert_or_assign(id, std::move(name));
  return {};
}

// As it stands in a cell of a table.
std::string escaped(std::string_view text) {
  std::string cell;
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
  return cell;
}

// The number of parts is that of the things in the event, so nothing here needs to be counted again.
class PartsMaker {
 public:
  explicit PartsMaker(const Event& event) : event_(event) {}

  Parts make(std::string types) {
    add_tags();
    const std::size_t directory = add_directory("entries", std::nullopt);
    for (const auto& [id, any] : event_.entries) add_entry(id, any, directory);
    parts_.push_back({.key = "types.tsv", .kind = PartKind::kText, .text = std::move(types)});
    return std::move(parts_);
  }

 private:
  std::size_t add_directory(std::string key, std::optional<std::size_t> parent) {
    parts_.push_back({.key = std::move(key), .parent = parent, .kind = PartKind::kDirectory});
    return parts_.size() - 1;
  }
  void add_entry(std::uint64_t id, const Any& any, std::size_t parent) {
    parts_.push_back({.key = std::to_string(id), .parent = parent, .kind = PartKind::kSlice, .extent = any.payload});
  }

  void add_tags() {
    const std::size_t tags = add_directory("tags", std::nullopt);
    for (const auto& [name, ids] : event_.tags) add_tagged(ids, add_directory(name, tags));
  }

  // Ids of entries that are not there have nothing to show.
  void add_tagged(const EntryIds& ids, std::size_t directory) {
    std::set<std::uint64_t> shown;
    for (const std::uint64_t id : ids) {
      const auto entry = event_.entries.find(id);
      if (entry != event_.entries.end() && shown.insert(id).second) add_entry(id, entry->second, directory);
    }
  }

  const Event& event_;
  Parts parts_;
};

// A type's name stands there for each of its entries: so the text may be much longer than the event.
Result<std::string> types_table(const Event& event, const Limits& limits) {
  std::map<std::uint64_t, std::string> cells;
  for (const auto& [id, name] : event.types) cells.emplace(id, escaped(name));
  std::string text = "entry\ttype\tname\n";
  for (const auto& [id, any] : event.entries) {
    text += fmt::format("{}\t{}\t", id, any.type);
    if (const auto cell = cells.find(any.type); cell != cells.end()) text += cell->second;
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
