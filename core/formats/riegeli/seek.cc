#include "core/formats/riegeli/seek.h"

#include <algorithm>

namespace recordfs::riegeli {
namespace {

// The most broken block headers in a row to skip backwards.
constexpr int kBlocksTried = 8;
// How far before a byte to search for a block header if the phase is not 0.
constexpr Position kLookedBack = 2 * kBlockSize;
// The most chunk headers to read in one search: more than fit into the tried blocks.
constexpr int kMostSteps = 16384;

// Returns a chunk boundary from which a scan can reach `at`, from the header of one block. Returns nullopt if the
// header is broken or contradicts the chunk that it names.
Result<std::optional<Position>> walk_start(const Framing& framing, Position block, Position at) {
  if (block == 0) return std::optional<Position>(0);
  ASSIGN_OR_RETURN(const auto read, framing.block_header(block));
  if (!read) return std::optional<Position>{};
  const BlockHeader& header = *read;
  if (header.previous_chunk == 0) return std::optional<Position>(block);
  if (header.next_chunk <= at - block) {
    const Position end = block + header.next_chunk;
    if (!is_chunk_boundary(end)) return std::optional<Position>{};
    // If no chunk begins there, one may begin earlier.
    ASSIGN_OR_RETURN(const auto goes_on, framing.is_sound_or_end({end, 0}));
    if (goes_on) return std::optional(end);
  }
  if (header.previous_chunk > block) return std::optional<Position>{};
  const Position begin = block - header.previous_chunk;
  ASSIGN_OR_RETURN(const auto sound,
                   is_chunk_boundary(begin) ? framing.is_chunk(begin, block + header.next_chunk) : Result<bool>(false));
  return sound ? std::optional(begin) : std::nullopt;
}

// Scans from a chunk boundary to the chunk that covers `at`.
Result<std::optional<ChunkInfo>> walk_to(const Framing& framing, Place start, Position at) {
  std::optional<ChunkKey> key = ChunkKey{start.begin, start.phase};
  for (int i = 0; i < kMostSteps && key && key->position <= at && !Framing::has_searched_long(*key); ++i) {
    ASSIGN_OR_RETURN(const auto step, framing.scan(*key));
    if (step.chunk && step.chunk->end > at) return step.chunk;
    key = step.next;
  }
  return std::optional<ChunkInfo>{};
}

}  // namespace

Result<std::optional<ChunkInfo>> find_chunk(const Framing& framing, Position at) {
  Position block = at / kBlockSize * kBlockSize;
  for (int i = 0; i < kBlocksTried; ++i) {
    ASSIGN_OR_RETURN(const auto start, walk_start(framing, block, at));
    if (start) return walk_to(framing, {*start, 0}, at);
    if (block == 0) break;
    block -= kBlockSize;
  }
  ASSIGN_OR_RETURN(const auto shifted, framing.chunk_in_shifted_blocks(at - std::min(at, kLookedBack), at));
  return shifted ? walk_to(framing, *shifted, at) : std::optional<ChunkInfo>{};
}

}  // namespace recordfs::riegeli
