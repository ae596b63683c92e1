#include "core/formats/rocksdb_blob/wire.h"

#include <algorithm>
#include <array>

#include "core/formats/leveldb_table/entries.h"
#include "core/formats/leveldb_table/wire.h"
#include "core/hash/crc32c.h"
#include "core/hash/wrong_byte.h"

namespace recordfs::rocksdb_blob {
namespace {

constexpr std::uint32_t kMagic = 0x00248f37;
// The magic, and version 1.
constexpr std::array kMagicAndVersion{std::byte{0x37}, std::byte{0x8f}, std::byte{0x24}, std::byte{0},
                                      std::byte{1},    std::byte{0},    std::byte{0},    std::byte{0}};
constexpr std::uint8_t kTtlFlag = 1;
constexpr std::uint64_t kCheckedHeaderSize = 24;  // the sizes, and the time of expiration
constexpr std::uint64_t kChecksumSize = 4;
constexpr std::uint64_t kUnreadableSize = 1;

enum Compression : std::uint8_t { kNone = 0, kSnappy = 1, kZlib = 2, kLz4 = 4, kLz4Hc = 5, kZstd = 7 };

std::uint32_t checksum_of(Bytes bytes) { return mask_crc(crc32c(bytes)); }

RecordHeader fields_of(Bytes header) {
  Cursor cursor(header);
  RecordHeader fields;
  fields.key_size = cursor.u64_le();
  fields.value_size = cursor.u64_le();
  cursor.skip(kCheckedHeaderSize - cursor.offset() + kChecksumSize);  // the time of expiration
  fields.checksum = cursor.u32_le();
  return fields;
}

std::uint32_t stored_checksum(Bytes header) { return Cursor(header.subspan(kCheckedHeaderSize)).u32_le(); }

}  // namespace

std::size_t matching_magic(Bytes head) {
  const auto first_other = std::ranges::mismatch(kMagicAndVersion, head).in1;
  return static_cast<std::size_t>(first_other - kMagicAndVersion.begin());
}

std::optional<FileHeader> parse_file_header(Bytes head) {
  if (head.size() < kFileHeaderSize) return std::nullopt;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kMagicAndVersion.size(); ++i) wrong += head[i] != kMagicAndVersion[i] ? 1u : 0u;
  if (wrong > 1) return std::nullopt;
  Cursor cursor(head.subspan(kMagicAndVersion.size()));
  FileHeader header{.is_intact = wrong == 0};
  header.column_family = cursor.u32_le();
  header.has_ttl = (cursor.u8() & kTtlFlag) != 0;
  header.compression = cursor.u8();
  return header;
}

std::optional<std::uint64_t> parse_footer(Bytes footer) {
  if (footer.size() != kFooterSize) return std::nullopt;
  Cursor cursor(footer);
  const std::uint32_t magic = cursor.u32_le();
  const std::uint64_t records = cursor.u64_le();
  const std::uint32_t checksum = Cursor(footer.last(kChecksumSize)).u32_le();
  const bool is_valid = magic == kMagic && checksum == checksum_of(footer.first(kFooterSize - kChecksumSize));
  return is_valid ? std::optional(records) : std::nullopt;
}

bool RecordHeader::fits(std::uint64_t room) const {
  if (room < kRecordHeaderSize) return false;
  room -= kRecordHeaderSize;
  return key_size <= room && value_size <= room - key_size;
}

std::optional<RecordHeader> parse_record_header(Bytes header) {
  if (header.size() < kRecordHeaderSize) return std::nullopt;
  const bool is_valid = stored_checksum(header) == checksum_of(header.first(kCheckedHeaderSize));
  return is_valid ? std::optional(fields_of(header)) : std::nullopt;
}

Result<Record> check_record(Bytes stored) {
  const auto header = parse_record_header(stored);
  if (!header) return Error{.detail = "the header's checksum does not match"};
  if (!header->fits(stored.size()) || header->size() != stored.size()) return Error{.detail = "the sizes do not match"};
  const Bytes content = stored.subspan(kRecordHeaderSize);
  if (header->checksum != checksum_of(content)) return Error{.detail = "the value's checksum does not match"};
  const auto key_size = static_cast<std::size_t>(header->key_size);
  return Record{content.first(key_size), content.subspan(key_size)};
}

std::optional<CodecId> codec_of(std::uint8_t compression) {
  switch (compression) {
    case kNone: return CodecId::kNone;
    case kSnappy: return CodecId::kSnappy;
    case kZlib: return CodecId::kDeflate;
    case kLz4:
    case kLz4Hc: return CodecId::kLz4Frame;
    case kZstd: return CodecId::kZstd;
    default: return std::nullopt;
  }
}

std::optional<std::uint64_t> decoded_size(std::uint8_t compression, Bytes front) {
  if (!codec_of(compression)) return std::nullopt;
  // A Snappy block, too, begins with the size.
  Cursor cursor(front);
  const std::uint64_t size = cursor.varint32();
  return cursor.ok() ? std::optional(size) : std::nullopt;
}

Result<Buffer> decompress_value(const RequestContext& context, std::uint8_t compression, Bytes stored,
                                std::uint64_t limit) {
  // The form of blocks since format version 2: the size precedes the stream.
  const leveldb_table::Dialect dialect{.is_rocksdb = true, .version = 2};
  return leveldb_table::unpack(context, compression, stored, dialect, limit);
}

std::optional<RecordHeader> Wire::corrected(Bytes bytes, std::uint64_t room) {
  std::array<std::byte, kRecordHeaderSize> header;
  std::ranges::copy(bytes.first(kRecordHeaderSize), header.begin());
  const MutableBytes checked = MutableBytes(header).first(kCheckedHeaderSize);
  const bool is_corrected =
      correct_one_byte(checked, stored_checksum(bytes), [&] { return fields_of(header).fits(room); });
  return is_corrected ? std::optional(fields_of(header)) : std::nullopt;
}

Result<bool> Wire::is_sound(const RequestContext& context, const Source& source, Position at, const Header& header) {
  const std::uint64_t size = header.key_size + header.value_size;
  ASSIGN_OR_RETURN(const auto crc, framed::content_crc32c(context, source, at + kRecordHeaderSize, size));
  return crc && mask_crc(*crc) == header.checksum;
}

std::uint64_t Wire::shown_size(const Header& header, Bytes front) const {
  if (are_stored()) return leveldb_table::record_size(header.key_size, header.value_size);
  const auto value_size = compression ? decoded_size(*compression, front) : std::nullopt;
  return value_size ? leveldb_table::record_size(header.key_size, *value_size) : kUnreadableSize;
}

Result<std::uint64_t> Wire::shown_size(const RequestContext& context, WindowedReader& headers, Position at,
                                       const Header& header) const {
  if (are_stored()) return shown_size(header, {});
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kMostSizeBytes, header.value_size));
  ASSIGN_OR_RETURN(const auto front, headers.from(context, at + kRecordHeaderSize + header.key_size, wanted));
  return shown_size(header, front.first(std::min(front.size(), wanted)));
}

}  // namespace recordfs::rocksdb_blob
