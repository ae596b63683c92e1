// The byte-level structure of Riegeli/records files: block headers, chunk headers, and position arithmetic across block
// headers (Riegeli specification, "Block header", "Chunk", "Implementation notes").
//
// Pure functions over bytes and numbers; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/formats/chunk_info.h"

namespace recordfs::riegeli {

inline constexpr std::uint64_t kBlockSize = 1 << 16;
inline constexpr std::uint64_t kBlockHeaderSize = 24;
inline constexpr std::uint64_t kUsableBlockSize = kBlockSize - kBlockHeaderSize;
inline constexpr std::uint64_t kChunkHeaderSize = 40;

// A block header with a valid hash: where the chunk that it interrupts begins and ends.
struct BlockHeader {
  std::uint64_t previous_chunk = 0;  // bytes from the start of the chunk to the start of the block
  std::uint64_t next_chunk = 0;      // bytes from the start of the block to the end of the chunk, never 0
};

// Returns whether the first 24 bytes may be a block header, without checking the hash: their numbers are plausible for
// a file. REQUIRES: bytes.size() >= kBlockHeaderSize.
bool may_be_block_header(Bytes bytes);

// Returns whether the first 40 bytes may be the header of a chunk of records. REQUIRES: bytes.size() >=
// kChunkHeaderSize.
bool may_be_records_header(Bytes bytes);

// Parses 24 bytes. Returns nullopt if the hash does not match or next_chunk is 0.
std::optional<BlockHeader> parse_block_header(Bytes bytes);

// Appends the 24 bytes from which parse_block_header() reads `header`.
void append_block_header(std::string& out, const BlockHeader& header);

// The defined chunk types. Any other byte is kUnknown.
enum class ChunkType : std::uint8_t {
  kSignature = 's',
  kMetadata = 'm',
  kPadding = 'p',
  kSimple = 'r',
  kTransposed = 't',
  kUnknown = 0,
};

// A chunk header with a valid hash. Its numbers are untrusted.
struct ChunkHeader {
  std::uint64_t data_size = 0;
  std::uint64_t data_hash = 0;
  ChunkType type = ChunkType::kUnknown;
  std::uint64_t num_records = 0;
  std::uint64_t decoded_data_size = 0;
};

// Parses 40 bytes. Returns nullopt if the hash does not match.
std::optional<ChunkHeader> parse_chunk_header(Bytes bytes);

// Appends the 40 bytes from which parse_chunk_header() reads `header`.
void append_chunk_header(std::string& out, const ChunkHeader& header);

// Returns the kind of chunks of a type. Its value is the type.
ChunkKind kind_of(ChunkType type);

// Returns whether the header follows the rules of its type: which sizes and counts must be zero.
bool keeps_type_rules(const ChunkHeader& header);

// The position of blocks modulo the block size. It is 0, except after deleted or inserted bytes and in a file that was
// appended to another one.
using Phase = std::uint64_t;

// Returns how far blocks of this phase must be shifted to be at multiples of the block size.
constexpr std::uint64_t shift_of(Phase phase) { return (kBlockSize - phase) % kBlockSize; }

// Returns the position of the first block at or after `at`.
constexpr Position block_at_or_after(Position at, Phase phase = 0) {
  return (at + shift_of(phase) + kBlockSize - 1) / kBlockSize * kBlockSize - shift_of(phase);
}

// Returns whether a chunk may begin or end at `at`: not at offsets 1..24 of a block, inside or directly after its
// header.
constexpr bool is_chunk_boundary(Position at, Phase phase = 0) {
  const std::uint64_t offset = (at + shift_of(phase)) % kBlockSize;
  return offset == 0 || offset > kBlockHeaderSize;
}

// Returns where `size` bytes of a chunk that begins at `at` end, including the block headers in between. A chunk at a
// block boundary begins with the block header. REQUIRES: at + size + size / 1024 does not overflow.
constexpr Position add_with_headers(Position at, std::uint64_t size) {
  const std::uint64_t headers = (size + (at + kUsableBlockSize - 1) % kBlockSize) / kUsableBlockSize;
  return at + size + headers * kBlockHeaderSize;
}

// Returns the file position of byte `offset` of a chunk's header and data.
constexpr Position position_in_chunk(Position begin, std::uint64_t offset, Phase phase = 0) {
  return add_with_headers(begin + shift_of(phase), offset + 1) - 1 - shift_of(phase);
}

// Return where a chunk's header and data end, and where the chunk ends, including padding. Both return the largest
// Position if the header declares more than any file can hold.
Position content_end(Position begin, const ChunkHeader& header, Phase phase = 0);
Position chunk_end(Position begin, const ChunkHeader& header, Phase phase = 0);

// Returns the first 64 bytes of every file: a block header and the signature chunk's header.
Bytes file_signature();

}  // namespace recordfs::riegeli
