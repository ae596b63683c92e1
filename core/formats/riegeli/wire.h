// What stands in a Riegeli/records file byte by byte: block headers, chunk headers, and the arithmetic of
// positions that block headers interrupt (specification, "Block header", "Chunk", "Implementation notes").
//
// Pure functions over bytes and numbers; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs::riegeli {

inline constexpr std::uint64_t kBlockSize = 1 << 16;
inline constexpr std::uint64_t kBlockHeaderSize = 24;
inline constexpr std::uint64_t kUsableBlockSize = kBlockSize - kBlockHeaderSize;
inline constexpr std::uint64_t kChunkHeaderSize = 40;

// A block header whose hash is right. It says where the chunk that it interrupts begins and ends.
struct BlockHeader {
  std::uint64_t previous_chunk = 0;  // bytes from the chunk's begin to the block's begin
  std::uint64_t next_chunk = 0;      // bytes from the block's begin to the chunk's end, never 0
};

// Whether the first 24 bytes may be a block header, told without its hash: it says no more than what fits into a file.
// REQUIRES: bytes.size() >= kBlockHeaderSize.
bool may_be_block_header(Bytes bytes);

// The same of 40 bytes and the header of a chunk of records. REQUIRES: bytes.size() >= kChunkHeaderSize.
bool may_be_records_header(Bytes bytes);

// Parses 24 bytes; nullopt when the hash is wrong or the header points nowhere.
std::optional<BlockHeader> parse_block_header(Bytes bytes);

// The chunk types that have a meaning. Any other byte is a type this reader does not know.
enum class ChunkType : std::uint8_t {
  kSignature = 's',
  kMetadata = 'm',
  kPadding = 'p',
  kSimple = 'r',
  kTransposed = 't',
  kUnknown = 0,
};

// A chunk header whose hash is right. Its numbers are the writer's word and nothing more.
struct ChunkHeader {
  std::uint64_t data_size = 0;
  std::uint64_t data_hash = 0;
  ChunkType type = ChunkType::kUnknown;
  std::uint64_t num_records = 0;
  std::uint64_t decoded_data_size = 0;
};

// Parses 40 bytes; nullopt when the hash is wrong.
std::optional<ChunkHeader> parse_chunk_header(Bytes bytes);

// The word for a type in ChunkInfo::kind, and back. Static storage.
std::string_view kind_of(ChunkType type);
ChunkType type_of(std::string_view kind);

// Whether the header keeps the rules of its type: which sizes and counts must be zero.
bool keeps_type_rules(const ChunkHeader& header);

// What a block's position leaves when it is divided by the block size: 0, but behind a place where bytes have got lost
// or in between, and in a file that stands behind another one.
using Phase = std::uint64_t;

// How far a part of a file in which blocks have this phase has to be moved for them to stand where they should.
constexpr std::uint64_t shift_of(Phase phase) { return (kBlockSize - phase) % kBlockSize; }

// The first block at or behind `at`.
constexpr Position block_at_or_behind(Position at, Phase phase = 0) {
  return (at + shift_of(phase) + kBlockSize - 1) / kBlockSize * kBlockSize - shift_of(phase);
}

// Offsets 1..24 of a block: inside or right behind its header, where no chunk may begin or end.
constexpr bool is_chunk_boundary(Position at, Phase phase = 0) {
  const std::uint64_t offset = (at + shift_of(phase)) % kBlockSize;
  return offset == 0 || offset > kBlockHeaderSize;
}

// Where `size` bytes of a chunk end that begin at `at`, block headers on the way included. What begins on
// a block boundary begins with the block's header. REQUIRES: at + size + size / 1024 does not overflow.
constexpr Position add_with_headers(Position at, std::uint64_t size) {
  const std::uint64_t headers = (size + (at + kUsableBlockSize - 1) % kBlockSize) / kUsableBlockSize;
  return at + size + headers * kBlockHeaderSize;
}

// Where byte `offset` of a chunk's header and data stands in the file.
constexpr Position position_in_chunk(Position begin, std::uint64_t offset, Phase phase = 0) {
  return add_with_headers(begin + shift_of(phase), offset + 1) - 1 - shift_of(phase);
}

// Where a chunk's header and data end, and where the chunk ends, padding included. Both are the largest
// Position where the header asks for more than any file holds.
Position content_end(Position begin, const ChunkHeader& header, Phase phase = 0);
Position chunk_end(Position begin, const ChunkHeader& header, Phase phase = 0);

// The 64 bytes with which each file begins: a block header and the signature chunk's header.
Bytes file_signature();

}  // namespace recordfs::riegeli
