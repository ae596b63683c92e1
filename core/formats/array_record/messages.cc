#include "core/formats/array_record/messages.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"
#include "core/base/protobuf.h"

namespace recordfs::array_record {
namespace {

using protobuf::MessageReader;
using protobuf::WireType;

constexpr std::uint32_t kNoGroups = 1;

// Field numbers of RiegeliFooterMetadata, of its ArrayRecordMetadata, of ArrayRecordFooter and of RiegeliPostscript.
constexpr std::uint32_t kArrayRecord = 1;
constexpr std::uint32_t kVersionField = 1;
constexpr std::uint32_t kChunks = 2;
constexpr std::uint32_t kRecords = 3;
constexpr std::uint32_t kWriterOptions = 4;
constexpr std::uint32_t kEntryBegin = 1;
constexpr std::uint32_t kEntrySize = 2;
constexpr std::uint32_t kEntryRecords = 3;
constexpr std::uint32_t kFooterPosition = 1;

// Returns the tag of a field with a varint. REQUIRES: number < 16.
constexpr std::uint8_t varint_tag(std::uint32_t number) { return static_cast<std::uint8_t>(number << 3); }

void append_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  out.push_back(static_cast<char>(varint_tag(field)));
  protobuf::append_varint(out, value);
}

// The tag and value of the field with the magic, 0x71930e704fdae05e.
constexpr std::array kMagicField{std::byte{0x10}, std::byte{0xde}, std::byte{0xc0}, std::byte{0xeb}, std::byte{0xfe},
                                 std::byte{0x84}, std::byte{0xce}, std::byte{0xc3}, std::byte{0xc9}, std::byte{0x71}};
constexpr std::byte kPlaceTag{varint_tag(kFooterPosition)};
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

// Parses an entry of two or three numbers, as writers store it. A footer has one for each chunk.
std::optional<IndexEntry> parse_usual_entry(Bytes record) {
  IndexEntry entry;
  Cursor cursor(record);
  if (cursor.u8() != varint_tag(kEntryBegin)) return std::nullopt;
  entry.begin = cursor.varint64();
  while (cursor.ok() && !cursor.at_end()) {
    const std::uint8_t tag = cursor.u8();
    const std::uint64_t value = cursor.varint64();
    if (tag != varint_tag(kEntrySize) && tag != varint_tag(kEntryRecords)) return std::nullopt;
    if (tag == varint_tag(kEntryRecords)) entry.records = value;
  }
  return cursor.ok() ? std::optional(entry) : std::nullopt;
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
  MessageReader outer(record, kNoGroups);
  if (!outer.next() || !outer.field().is(kArrayRecord, WireType::kLengthDelimited)) return std::nullopt;
  FooterHead head;
  MessageReader reader(outer.content(), kNoGroups);
  while (reader.next()) {
    if (reader.field().is(kVersionField, WireType::kVarint)) head.version = reader.field().value;
    if (reader.field().is(kChunks, WireType::kVarint)) head.chunks = reader.field().value;
    if (reader.field().is(kRecords, WireType::kVarint)) head.records = reader.field().value;
    if (reader.field().is(kWriterOptions, WireType::kLengthDelimited)) head.writer_options = as_text(reader.content());
  }
  if (!reader.finish() || outer.next() || !outer.finish() || head.version == 0) return std::nullopt;
  return head;
}

std::optional<IndexEntry> parse_entry(Bytes record) {
  if (const auto usual = parse_usual_entry(record)) return usual;
  IndexEntry entry;
  bool has_place = false;
  MessageReader reader(record, kNoGroups);
  while (reader.next()) {
    if (reader.field().is(kEntryBegin, WireType::kVarint)) {
      entry.begin = reader.field().value;
      has_place = true;
    }
    if (reader.field().is(kEntryRecords, WireType::kVarint)) entry.records = reader.field().value;
  }
  if (!reader.finish() || !has_place) return std::nullopt;
  return entry;
}

std::string to_record(const FooterHead& head) {
  std::string fields;
  append_number(fields, kVersionField, head.version);
  append_number(fields, kChunks, head.chunks);
  append_number(fields, kRecords, head.records);
  protobuf::append_field(fields, kWriterOptions, head.writer_options);
  std::string record;
  protobuf::append_field(record, kArrayRecord, fields);
  return record;
}

void append_entry(std::string& out, const IndexEntry& entry, std::uint64_t decoded_size) {
  append_number(out, kEntryBegin, entry.begin);
  append_number(out, kEntrySize, decoded_size);
  append_number(out, kEntryRecords, entry.records);
}

std::string postscript_of(Position footer) {
  std::string record;
  append_number(record, kFooterPosition, footer);
  record += as_text(kMagicField);
  return record;
}

}  // namespace recordfs::array_record
