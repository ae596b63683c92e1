#include "core/formats/recordio/legacy/wire.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"
#include "core/formats/recordio/magic.h"
#include "core/hash/crc32.h"

namespace recordfs::recordio::legacy {
namespace {

constexpr std::array kMagics{kUnpackedMagic, kPackedMagic};
constexpr std::size_t kLengthSize = 8;

bool is_magic(std::uint64_t number) { return std::ranges::find(kMagics, number) != kMagics.end(); }

struct Fields {
  std::uint64_t magic = 0;
  std::uint64_t length = 0;
  bool length_is_sound = false;
};

std::optional<Fields> read_fields(Bytes head) {
  Cursor cursor(head);
  Fields fields;
  fields.magic = cursor.u64_le();
  const Bytes length = cursor.take(kLengthSize);
  const std::uint32_t checksum = cursor.u32_le();
  if (!cursor.ok()) return std::nullopt;
  fields.length = Cursor(length).u64_le();
  fields.length_is_sound = crc32(length) == checksum;
  return fields;
}

}  // namespace

std::optional<RecordHeader> parse_record_header(Bytes head) {
  const auto fields = read_fields(head);
  if (!fields || !is_magic(fields->magic) || !fields->length_is_sound) return std::nullopt;
  return RecordHeader{fields->magic == kPackedMagic, fields->length};
}

bool is_damaged_header(Bytes head) {
  const auto fields = read_fields(head);
  return fields && (is_magic(fields->magic) || fields->length_is_sound);
}

bool is_cut_header(Bytes head) {
  Cursor cursor(head);
  if (head.size() >= kMagicSize) return head.size() < kRecordHeaderSize && is_magic(cursor.u64_le());
  std::uint64_t start = 0;
  for (unsigned shift = 0; !cursor.at_end(); shift += 8) start |= std::uint64_t{cursor.u8()} << shift;
  const std::uint64_t mask = (std::uint64_t{1} << (8 * head.size())) - 1;
  return std::ranges::any_of(kMagics, [&](std::uint64_t magic) { return (magic & mask) == start; });
}

std::size_t find_magic(Bytes bytes, std::size_t from) {
  for (std::size_t at = from; at < bytes.size(); ++at) {
    const std::byte first = bytes[at];
    const bool may_be = std::ranges::any_of(
        kMagics, [&](std::uint64_t magic) { return first == static_cast<std::byte>(magic & 0xff); });
    if (may_be && is_magic(Cursor(bytes.subspan(at)).u64_le())) return at;
  }
  return bytes.size();
}

}  // namespace recordfs::recordio::legacy
