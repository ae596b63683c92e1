#include "core/formats/riegeli/wire.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/append.h"
#include "core/base/cursor.h"
#include "core/hash/highway.h"

namespace recordfs::riegeli {
namespace {

constexpr Position kNowhere = std::numeric_limits<Position>::max();
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 60;

// Assumes that no file exceeds 2^40 bytes, so the upper bytes of its numbers are zero.
constexpr bool fits_into_file(Bytes bytes, std::size_t number) {
  return bytes[number + 7] == std::byte{0} && bytes[number + 6] == std::byte{0} && bytes[number + 5] == std::byte{0};
}

constexpr std::array<unsigned char, 64> kSignature = {
    0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72,
    0x73, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};

constexpr Position round_up_to_chunk_boundary(Position at) {
  return is_chunk_boundary(at) ? at : at / kBlockSize * kBlockSize + kBlockHeaderSize + 1;
}

ChunkType to_chunk_type(std::uint8_t byte) {
  switch (byte) {
    case 's': return ChunkType::kSignature;
    case 'm': return ChunkType::kMetadata;
    case 'p': return ChunkType::kPadding;
    case 'r': return ChunkType::kSimple;
    case 't': return ChunkType::kTransposed;
    default: return ChunkType::kUnknown;
  }
}

// Appends a header: the hash of `fields`, and `fields`.
void append_with_hash(std::string& out, const std::string& fields) {
  append_le(out, riegeli_hash(as_bytes(fields)));
  out += fields;
}

}  // namespace

bool may_be_block_header(Bytes bytes) {
  constexpr std::size_t kPreviousChunk = 8;
  constexpr std::size_t kNextChunk = 16;
  constexpr std::size_t kLowBytes = 5;
  return fits_into_file(bytes, kPreviousChunk) && fits_into_file(bytes, kNextChunk) &&
         std::ranges::any_of(bytes.subspan(kNextChunk, kLowBytes), [](std::byte byte) { return byte != std::byte{0}; });
}

bool may_be_records_header(Bytes bytes) {
  constexpr std::size_t kDataSize = 8;
  constexpr std::size_t kType = 24;
  constexpr std::size_t kDecodedSize = 32;
  const ChunkType type = to_chunk_type(std::to_integer<std::uint8_t>(bytes[kType]));
  const bool has_records = type == ChunkType::kSimple || type == ChunkType::kTransposed;
  return has_records && fits_into_file(bytes, kDataSize) && fits_into_file(bytes, kDecodedSize);
}

std::optional<BlockHeader> parse_block_header(Bytes bytes) {
  Cursor cursor(bytes);
  const std::uint64_t hash = cursor.u64_le();
  const Bytes hashed = cursor.rest();
  const BlockHeader header{cursor.u64_le(), cursor.u64_le()};
  if (!cursor.ok() || !cursor.at_end() || header.next_chunk == 0) return std::nullopt;
  if (riegeli_hash(hashed) != hash) return std::nullopt;
  return header;
}

std::optional<ChunkHeader> parse_chunk_header(Bytes bytes) {
  Cursor cursor(bytes);
  const std::uint64_t hash = cursor.u64_le();
  const Bytes hashed = cursor.rest();
  ChunkHeader header;
  header.data_size = cursor.u64_le();
  header.data_hash = cursor.u64_le();
  const std::uint64_t type_and_records = cursor.u64_le();
  header.type = to_chunk_type(static_cast<std::uint8_t>(type_and_records));
  header.num_records = type_and_records >> 8;
  header.decoded_data_size = cursor.u64_le();
  if (!cursor.ok() || !cursor.at_end() || riegeli_hash(hashed) != hash) return std::nullopt;
  return header;
}

void append_block_header(std::string& out, const BlockHeader& header) {
  std::string fields;
  append_le(fields, header.previous_chunk);
  append_le(fields, header.next_chunk);
  append_with_hash(out, fields);
}

void append_chunk_header(std::string& out, const ChunkHeader& header) {
  std::string fields;
  append_le(fields, header.data_size);
  append_le(fields, header.data_hash);
  append_le(fields, header.num_records << 8 | static_cast<std::uint8_t>(header.type));
  append_le(fields, header.decoded_data_size);
  append_with_hash(out, fields);
}

ChunkKind kind_of(ChunkType type) {
  switch (type) {
    case ChunkType::kSignature: return {type, "signature"};
    case ChunkType::kMetadata: return {type, "metadata"};
    case ChunkType::kPadding: return {type, "padding"};
    case ChunkType::kSimple: return {type, "simple"};
    case ChunkType::kTransposed: return {type, "transposed"};
    case ChunkType::kUnknown: break;
  }
  return {ChunkType::kUnknown, "unknown"};
}

bool keeps_type_rules(const ChunkHeader& header) {
  switch (header.type) {
    case ChunkType::kSignature:
      return header.data_size == 0 && header.num_records == 0 && header.decoded_data_size == 0;
    case ChunkType::kPadding: return header.num_records == 0 && header.decoded_data_size == 0;
    case ChunkType::kMetadata:
    case ChunkType::kUnknown: return header.num_records == 0;
    case ChunkType::kSimple:
    case ChunkType::kTransposed: return true;
  }
  return true;
}

Position content_end(Position begin, const ChunkHeader& header, Phase phase) {
  if (begin > kLargestSize || header.data_size > kLargestSize) return kNowhere;
  return add_with_headers(begin + shift_of(phase), kChunkHeaderSize + header.data_size) - shift_of(phase);
}

Position chunk_end(Position begin, const ChunkHeader& header, Phase phase) {
  const Position content = content_end(begin, header, phase);
  if (content == kNowhere) return kNowhere;
  const std::uint64_t shift = shift_of(phase);
  return std::max(content, round_up_to_chunk_boundary(begin + shift + header.num_records) - shift);
}

Bytes file_signature() { return std::as_bytes(std::span(kSignature)); }

}  // namespace recordfs::riegeli
