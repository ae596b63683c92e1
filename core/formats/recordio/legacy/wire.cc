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
  if (head.size() < kMagicSize) return is_cut_magic(head, kMagics);
  return head.size() < kRecordHeaderSize && magic_at(head, kMagics);
}

std::size_t find_magic(Bytes bytes, std::size_t from) { return recordio::find_magic(bytes, from, kMagics); }

}  // namespace recordfs::recordio::legacy
