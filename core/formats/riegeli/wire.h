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

// The first multiple of the block size at or behind `at`.
constexpr Position block_at_or_behind(Position at) { return (at + kBlockSize - 1) / kBlockSize * kBlockSize; }

// Offsets 1..24 of a block: inside or right behind its header, where no chunk may begin or end.
constexpr bool is_chunk_boundary(Position at) {
  const std::uint64_t offset = at % kBlockSize;
  return offset == 0 || offset > kBlockHeaderSize;
}

// Where `size` bytes of a chunk end that begin at `at`, block headers on the way included. What begins on
// a block boundary begins with the block's header. REQUIRES: at + size + size / 1024 does not overflow.
constexpr Position add_with_headers(Position at, std::uint64_t size) {
  const std::uint64_t headers = (size + (at + kUsableBlockSize - 1) % kBlockSize) / kUsableBlockSize;
  return at + size + headers * kBlockHeaderSize;
}

// Where byte `offset` of a chunk's header and data stands in the file.
constexpr Position position_in_chunk(Position begin, std::uint64_t offset) {
  return add_with_headers(begin, offset + 1) - 1;
}

// Where a chunk's header and data end, and where the chunk ends, padding included. Both are the largest
// Position where the header asks for more than any file holds.
Position content_end(Position begin, const ChunkHeader& header);
Position chunk_end(Position begin, const ChunkHeader& header);

// The 64 bytes with which each file begins: a block header and the signature chunk's header.
Bytes file_signature();

}  // namespace recordfs::riegeli
