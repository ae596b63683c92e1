#include "core/formats/leveldb_log/wire.h"

#include <algorithm>
#include <array>

#include "core/base/append.h"
#include "core/base/cursor.h"
#include "core/hash/crc32.h"
#include "core/hash/crc32c.h"
#include "core/hash/crc_field.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::uint8_t kIgnorableBit = 0x80;

struct TypeFacts {
  Role role = Role::kUnknown;
  std::uint32_t header_size = kHeaderSize;
};

// Types 9 to 12 of Pebble, in a header with an offset.
TypeFacts facts_of_sync_type(std::uint8_t type) {
  switch (type) {
    case 9: return {Role::kFull, kSyncHeaderSize};
    case 10: return {Role::kFirst, kSyncHeaderSize};
    case 11: return {Role::kMiddle, kSyncHeaderSize};
    case 12: return {Role::kLast, kSyncHeaderSize};
    default: return {};
  }
}

TypeFacts facts_of(std::uint8_t type, const Wire& wire) {
  if (type > kLastLevelDbType && !wire.has_rocksdb_types) return {};
  if (const auto facts = facts_of_sync_type(type); wire.has_sync_offsets && facts.role != Role::kUnknown) return facts;
  switch (type) {
    case 0: return {Role::kFiller};
    case 1: return {Role::kFull};
    case 2: return {Role::kFirst};
    case 3: return {Role::kMiddle};
    case 4: return {Role::kLast};
    case 5: return {Role::kFull, kRecyclableHeaderSize};
    case 6: return {Role::kFirst, kRecyclableHeaderSize};
    case 7: return {Role::kMiddle, kRecyclableHeaderSize};
    case 8: return {Role::kLast, kRecyclableHeaderSize};
    case 9: return {Role::kCompression};
    case kTimestampSizes: return {Role::kControl};
    case kRecyclableTimestampSizes: return {Role::kControl, kRecyclableHeaderSize};
    case 130: return {Role::kControl};                         // the log before this one
    case 131: return {Role::kControl, kRecyclableHeaderSize};  // the same
    default: return {(type & kIgnorableBit) != 0 ? Role::kIgnorable : Role::kUnknown};
  }
}

std::uint32_t checksum_of(Bytes covered, Wire::Checksum checksum) {
  return checksum == Wire::Checksum::kCrc32 ? crc32(covered) : mask_crc(crc32c(covered));
}

bool checksum_matches(Bytes rest, const Fragment& fragment, std::uint32_t stored, const Wire& wire) {
  const std::size_t size = fragment.header_size - kChecksumBegin + fragment.length;
  return checksum_of(rest.subspan(kChecksumBegin, size), wire.checksum) == stored;
}

Parsed check(Bytes rest, const Fragment& fragment, std::uint32_t stored, const Wire& wire) {
  if (rest.size() < fragment.header_size) return {Verdict::kShort, fragment, {}};
  if (fragment.length > rest.size() - fragment.header_size) return {Verdict::kTooLong, fragment, {}};
  if (!checksum_matches(rest, fragment, stored, wire)) return {Verdict::kBadChecksum, fragment, {}};
  return {Verdict::kSound, fragment, rest.subspan(fragment.header_size, fragment.length)};
}

}  // namespace

std::uint8_t data_type(bool is_first, bool is_last, std::uint32_t header_size) {
  const int own = is_first ? (is_last ? 1 : 2) : (is_last ? 4 : 3);
  const int before = header_size == kHeaderSize ? 0 : header_size == kRecyclableHeaderSize ? 4 : 8;
  return static_cast<std::uint8_t>(before + own);
}

void append_fragment(std::string& out, std::uint8_t type, Bytes payload, const HeaderForm& form) {
  std::string covered(1, static_cast<char>(type));
  if (form.size != kHeaderSize) append_le(covered, form.log_number);
  if (form.size == kSyncHeaderSize) append_le(covered, std::uint64_t{0});
  covered += as_text(payload);
  append_le(out, checksum_of(as_bytes(covered), form.checksum));
  append_le(out, static_cast<std::uint16_t>(payload.size()));
  out += covered;
}

StatedSizes stated_sizes(const Fragment& fragment) {
  const std::uint32_t own = fragment.header_size;
  const std::uint32_t other = own == kSyncHeaderSize ? own : kHeaderSize + kRecyclableHeaderSize - own;
  return {own + fragment.length, other + fragment.length};
}

std::optional<std::size_t> size_by_checksum(Bytes rest, const Wire& wire) {
  if (rest.size() < kHeaderSize) return std::nullopt;
  const bool is_plain = wire.checksum == Wire::Checksum::kCrc32;
  const CrcField& field = is_plain ? kCrc32Field : kCrc32cField;
  const std::uint32_t stored = Cursor(rest).u32_le();
  const std::uint32_t wanted = ~(is_plain ? stored : unmask_crc(stored));
  std::uint32_t crc = ~std::uint32_t{0};
  for (std::size_t at = kChecksumBegin; at < rest.size(); ++at) {
    crc = field.times_byte(crc ^ std::to_integer<std::uint32_t>(rest[at]));
    if (crc == wanted) return at + 1;
  }
  return std::nullopt;
}

Parsed parse_fragment(Bytes rest, Position at, const Wire& wire) {
  Cursor cursor(rest);
  Fragment fragment;
  fragment.begin = at;
  const std::uint32_t stored = cursor.u32_le();
  fragment.length = cursor.u16_le();
  fragment.type = cursor.u8();
  if (!cursor.ok()) return {Verdict::kShort, fragment, {}};
  const std::uint32_t log_number = cursor.u32_le();
  const auto check_as = [&](const TypeFacts& facts) {
    Fragment read = fragment;
    read.role = facts.role;
    read.header_size = facts.header_size;
    if (facts.header_size != kHeaderSize) read.log_number = log_number;
    return check(rest, read, stored, wire);
  };
  const TypeFacts facts = facts_of(fragment.type, wire);
  if (facts.role == Role::kFiller && fragment.length == 0) return {Verdict::kFiller, fragment, {}};
  const Parsed parsed = check_as(facts);
  if (parsed.verdict == Verdict::kSound) return parsed;
  if (facts.header_size == kRecyclableHeaderSize) {
    if (const Parsed narrow = check_as({}); narrow.verdict == Verdict::kSound) return narrow;
  }
  if (const TypeFacts sync = facts_of_sync_type(fragment.type);
      wire.has_rocksdb_types && !wire.has_sync_offsets && sync.role != Role::kUnknown) {
    if (const Parsed wide = check_as(sync); wide.verdict == Verdict::kSound) return wide;
  }
  return parsed;
}

bool may_have_been_of_log(Bytes rest, std::uint32_t number) {
  const Bytes header = rest.first(std::min<std::size_t>(rest.size(), kRecyclableHeaderSize));
  if (std::ranges::all_of(header, [](std::byte byte) { return byte == std::byte{0}; })) return true;
  Cursor cursor(rest);
  const std::uint32_t stored = cursor.u32_le();
  const std::uint16_t length = cursor.u16_le();
  const std::byte type{cursor.u8()};
  const std::uint32_t there = cursor.u32_le();
  if (!cursor.ok() || there == number) return cursor.ok();
  const Bytes payload = rest.subspan(kRecyclableHeaderSize);
  if (length > payload.size()) return false;
  const auto byte_of_number = [number](int index) { return static_cast<std::byte>(number >> (8 * index)); };
  const std::array begin{type, byte_of_number(0), byte_of_number(1), byte_of_number(2), byte_of_number(3)};
  return mask_crc(crc32c(payload.first(length), crc32c(begin))) == stored;
}

std::optional<std::uint32_t> parse_end_mark(Bytes rest) {
  constexpr std::uint8_t kRecyclableFull = 5;
  Cursor cursor(rest);
  const bool is_empty = cursor.u32_le() == 0 && cursor.u16_le() == 0 && cursor.u8() == kRecyclableFull;
  const std::uint32_t number = cursor.u32_le();
  return is_empty && cursor.ok() ? std::optional(number) : std::nullopt;
}

}  // namespace recordfs::leveldb_log
