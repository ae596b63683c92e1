#include "core/formats/array_record/layout.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"

namespace recordfs::array_record {
namespace {

using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint32_t kNoGroups = 1;

// The tag and value of the field with the magic, 0x71930e704fdae05e.
constexpr std::array kMagicField{std::byte{0x10}, std::byte{0xde}, std::byte{0xc0}, std::byte{0xeb}, std::byte{0xfe},
                                 std::byte{0x84}, std::byte{0xce}, std::byte{0xc3}, std::byte{0xc9}, std::byte{0x71}};
constexpr std::byte kPlaceTag{0x08};
constexpr std::size_t kLongestPlace = 1 + 10;

// Returns the value of the field directly before `end`, if it is the footer position.
std::optional<Position> place_before(Bytes bytes, std::size_t end) {
  for (std::size_t size = 2; size <= std::min(end, kLongestPlace); ++size) {
    if (bytes[end - size] != kPlaceTag) continue;
    Cursor cursor(bytes.subspan(end - size + 1, size - 1));
    const Position place = cursor.varint64();
    if (cursor.ok() && cursor.at_end()) return place;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Position> footers_named_in(Bytes bytes) {
  std::vector<Position> places;
  for (auto at = bytes.begin();;) {
    at = std::search(at, bytes.end(), kMagicField.begin(), kMagicField.end());
    if (at == bytes.end()) return places;
    const auto place = place_before(bytes, static_cast<std::size_t>(at - bytes.begin()));
    if (place && std::ranges::find(places, *place) == places.end()) places.push_back(*place);
    ++at;
  }
}

std::optional<FooterHead> parse_head(Bytes record) {
  constexpr std::uint32_t kArrayRecord = 1;
  MessageReader outer(record, kNoGroups);
  if (!outer.next() || !outer.field().is(kArrayRecord, WireType::kLengthDelimited)) return std::nullopt;
  FooterHead head;
  MessageReader reader(outer.content(), kNoGroups);
  while (reader.next()) {
    if (reader.field().is(1, WireType::kVarint)) head.version = reader.field().value;
    if (reader.field().is(2, WireType::kVarint)) head.chunks = reader.field().value;
    if (reader.field().is(3, WireType::kVarint)) head.records = reader.field().value;
    if (reader.field().is(4, WireType::kLengthDelimited)) head.writer_options = as_text(reader.content());
  }
  if (!reader.finish() || outer.next() || !outer.finish() || head.version == 0) return std::nullopt;
  return head;
}

std::optional<IndexEntry> parse_entry(Bytes record) {
  IndexEntry entry;
  bool has_place = false;
  MessageReader reader(record, kNoGroups);
  while (reader.next()) {
    if (reader.field().is(1, WireType::kVarint)) {
      entry.begin = reader.field().value;
      has_place = true;
    }
    if (reader.field().is(3, WireType::kVarint)) entry.records = reader.field().value;
  }
  if (!reader.finish() || !has_place) return std::nullopt;
  return entry;
}

}  // namespace recordfs::array_record
