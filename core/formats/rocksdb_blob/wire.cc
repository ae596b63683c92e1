#include "core/formats/rocksdb_blob/wire.h"

#include <algorithm>
#include <array>

#include "core/base/cursor.h"
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

enum Compression : std::uint8_t { kNone = 0, kSnappy = 1, kZlib = 2, kLz4 = 4, kLz4Hc = 5, kZstd = 7 };

constexpr std::uint64_t kReadPiece = 256u << 10;
constexpr std::uint64_t kFirstWindow = 1u << 10;  // most searches end within this
constexpr std::uint64_t kSearchWindow = 64u << 10;
constexpr std::uint64_t kMostVerified = 64u << 20;  // of a record that was cut short, and of records after it

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

// Returns the header with another byte in it, with which it matches its checksum, and its record has at most `room`
// bytes.
std::optional<RecordHeader> corrected_header(Bytes header, std::uint64_t room) {
  if (header.size() < kRecordHeaderSize) return std::nullopt;
  std::array<std::byte, kRecordHeaderSize> bytes;
  std::ranges::copy(header.first(kRecordHeaderSize), bytes.begin());
  const auto is_possible = [&] { return fields_of(bytes).fits(room); };
  const MutableBytes checked = MutableBytes(bytes).first(kCheckedHeaderSize);
  const bool is_corrected = correct_one_byte(checked, stored_checksum(header), is_possible);
  return is_corrected ? std::optional(fields_of(bytes)) : std::nullopt;
}

// Returns the offset of the first header of a record of at most `most` bytes.
std::size_t find_header(Bytes window, std::uint64_t most) {
  for (std::size_t offset = 0; window.size() - offset >= kRecordHeaderSize; ++offset) {
    const std::byte* const at = window.data() + offset;
    const bool is_candidate = load_le<std::uint64_t>(at) <= most && load_le<std::uint64_t>(at + 8) <= most;
    if (is_candidate && parse_record_header(window.subspan(offset))) return offset;
  }
  return window.size();
}

// Returns the header of the record at `at`; nullopt if there is none, or if the record would end after `end`.
Result<std::optional<RecordHeader>> header_at(const RequestContext& context, WindowedReader& headers, Position at,
                                              Position end) {
  ASSIGN_OR_RETURN(const auto bytes, headers.from(context, at, kRecordHeaderSize));
  const auto header = parse_record_header(bytes);
  return header && header->fits(end - at) ? header : std::nullopt;
}

// Consecutive records.
struct Chain {
  Position last = 0;      // where the last one begins
  RecordHeader header{};  // of the last one
  Position end = 0;
};

// Follows the records that begin at `from`, up to the first that ends at or after `next`. The chain is empty if there
// is no record.
Result<Chain> follow(const RequestContext& context, WindowedReader& headers, Position from, Position next,
                     Position end) {
  Chain chain{.last = from, .end = from};
  while (chain.end < next) {
    ASSIGN_OR_RETURN(const auto header, header_at(context, headers, chain.end, end));
    if (!header) break;
    chain = {chain.end, *header, chain.end + header->size()};
  }
  return chain;
}

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

Result<bool> is_sound(const RequestContext& context, const Source& source, Position begin, const RecordHeader& header) {
  const std::uint64_t size = header.key_size + header.value_size;
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < size;) {
    ASSIGN_OR_RETURN(const auto piece, source.view_at(context, begin + done, std::min(kReadPiece, size - done)));
    if (piece.bytes.empty()) return false;
    crc = crc32c(piece.bytes, crc);
    done += piece.bytes.size();
  }
  return mask_crc(crc) == header.checksum;
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

Result<ResyncResult> search(const RequestContext& context, const Source& source, Position from, Position end,
                            std::uint64_t budget) {
  WindowedReader windows(source, kFirstWindow, kSearchWindow);
  const auto find = [end](Bytes window) { return find_header(window, end); };
  const auto test = [end](Position at, Bytes bytes) -> Result<Position> {
    const auto header = parse_record_header(bytes);
    return header && at < end && header->fits(end - at) ? at : at + 1;
  };
  const auto is_spent = [&](Position) { return windows.bytes_read() >= budget; };
  return resync(context, windows, from, {kRecordHeaderSize, find, test, is_spent});
}

Result<std::optional<Position>> end_of_damaged(const RequestContext& context, const Source& source, Position at,
                                               Position end) {
  const std::optional<Position> none;
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source, at, kRecordHeaderSize));
  const auto header = corrected_header(bytes.view(), end - at);
  if (!header) return none;
  const Position next = at + header->size();
  ASSIGN_OR_RETURN(const auto following, read_up_to(context, source, next, kRecordHeaderSize));
  return next == end || parse_record_header(following.view()) ? std::optional(next) : none;
}

Result<std::optional<Position>> cut_short_at(const RequestContext& context, const Source& source, Position at,
                                             Position next, Position end) {
  const std::optional<Position> none;
  if (next - at > kMostVerified) return none;
  WindowedReader headers = header_reader(source);
  ASSIGN_OR_RETURN(const auto header, header_at(context, headers, at, end));
  ASSIGN_OR_RETURN(const auto sound,
                   is_sound(context, source, at + kRecordHeaderSize, header.value_or(RecordHeader{})));
  if (!header || sound) return none;
  std::uint64_t verified = 0;
  for (Position from = at + 1; from < next && verified < kMostVerified;) {
    ASSIGN_OR_RETURN(const auto found, search(context, source, from, end, kMostVerified));
    if (found.kind != ResyncResult::Kind::kFound || found.at >= next) return none;
    ASSIGN_OR_RETURN(const auto chain, follow(context, headers, found.at, next, end));
    from = std::max(chain.end, found.at + 1);
    if (chain.end <= next) continue;
    // Only the record that crosses `next` must match, so that no record is searched more than once.
    const std::uint64_t size = chain.end - chain.last;
    ASSIGN_OR_RETURN(const auto crosses, size > kMostVerified
                                             ? Result<bool>(true)
                                             : is_sound(context, source, chain.last + kRecordHeaderSize, chain.header));
    if (crosses) return std::optional(found.at);
    verified += size;
    from = chain.last + 1;
  }
  return none;
}

}  // namespace recordfs::rocksdb_blob
