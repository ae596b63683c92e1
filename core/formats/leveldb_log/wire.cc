#include "core/formats/leveldb_log/wire.h"

#include "core/base/cursor.h"
#include "core/hash/crc32.h"
#include "core/hash/crc32c.h"
#include "core/hash/crc_field.h"

namespace recordfs::leveldb_log {
namespace {

constexpr std::uint8_t kIgnorableBit = 0x80;

struct TypeFacts {
  Role role;
  bool recyclable;
};

TypeFacts facts_of(std::uint8_t type, const Wire& wire) {
  if (type > kLastLevelDbType && !wire.has_rocksdb_types) return {Role::kUnknown, false};
  switch (type) {
    case 0: return {Role::kFiller, false};
    case 1: return {Role::kFull, false};
    case 2: return {Role::kFirst, false};
    case 3: return {Role::kMiddle, false};
    case 4: return {Role::kLast, false};
    case 5: return {Role::kFull, true};
    case 6: return {Role::kFirst, true};
    case 7: return {Role::kMiddle, true};
    case 8: return {Role::kLast, true};
    case 9: return {Role::kCompression, false};
    case 10: return {Role::kControl, false};   // user-defined timestamp sizes
    case 11: return {Role::kControl, true};    // the same
    case 130: return {Role::kControl, false};  // the log before this one
    case 131: return {Role::kControl, true};   // the same
    default: return {(type & kIgnorableBit) != 0 ? Role::kIgnorable : Role::kUnknown, false};
  }
}

bool checksum_matches(Bytes rest, const Fragment& fragment, std::uint32_t stored, const Wire& wire) {
  const std::size_t size = fragment.header_size - kChecksumBegin + fragment.length;
  const Bytes covered = rest.subspan(kChecksumBegin, size);
  if (wire.checksum == Wire::Checksum::kCrc32) return crc32(covered) == stored;
  return mask_crc(crc32c(covered)) == stored;
}

Parsed check(Bytes rest, const Fragment& fragment, std::uint32_t stored, const Wire& wire) {
  if (rest.size() < fragment.header_size) return {Verdict::kShort, fragment, {}};
  if (fragment.length > rest.size() - fragment.header_size) return {Verdict::kTooLong, fragment, {}};
  if (!checksum_matches(rest, fragment, stored, wire)) return {Verdict::kBadChecksum, fragment, {}};
  return {Verdict::kSound, fragment, rest.subspan(fragment.header_size, fragment.length)};
}

}  // namespace

StatedSizes stated_sizes(const Fragment& fragment) {
  const std::uint32_t other = kHeaderSize + kRecyclableHeaderSize - fragment.header_size;
  return {fragment.header_size + fragment.length, other + fragment.length};
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
  const TypeFacts facts = facts_of(fragment.type, wire);
  if (facts.role == Role::kFiller && fragment.length == 0) return {Verdict::kFiller, fragment, {}};
  if (!facts.recyclable) {
    fragment.role = facts.role;
    return check(rest, fragment, stored, wire);
  }

  Fragment wide = fragment;
  wide.role = facts.role;
  wide.header_size = kRecyclableHeaderSize;
  wide.log_number = cursor.u32_le();
  const Parsed parsed = check(rest, wide, stored, wire);
  if (parsed.verdict == Verdict::kSound) return parsed;
  const Parsed narrow = check(rest, fragment, stored, wire);
  return narrow.verdict == Verdict::kSound ? narrow : parsed;
}

}  // namespace recordfs::leveldb_log
