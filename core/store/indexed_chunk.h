// A chunk as a scan finds it, with the sums over the chunks before it.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/formats/chunk_info.h"

namespace recordfs {

// The upper bound of all sums of records or decoded bytes.
inline constexpr std::uint64_t kLargestSum = std::uint64_t{1} << 62;

// Returns the decoded size that a chunk counts with in sums: 1 if it is unknown, or too large ever to be decoded.
std::uint64_t counted_size(const ChunkInfo& chunk);

// What a chunk is searched by. The values do not decrease along the scan.
enum class SearchKey : std::uint8_t {
  kChunks,    // number of the chunk
  kRecords,   // ordinal of a record
  kBytes,     // offset in all records, concatenated
  kLines,     // offset in all records, each followed by one byte
  kRows,      // offset in the rows of index/chunks.tsv
  kPosition,  // byte of the file; only if the scan goes in file order
};

// Sums over the chunks before a place.
struct PrefixSums {
  std::uint64_t chunks = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // sum of counted_size(); at most kLargestSum
  std::uint64_t rows = 0;
  Position position = 0;

  std::uint64_t at(SearchKey search_key) const;
};

// A chunk, with the sums before it.
struct IndexedChunk {
  ChunkInfo chunk;
  PrefixSums before;

  // Returns the sums before the next chunk. Their position is the end of this one.
  PrefixSums after() const;
};

// A place from which a scan can continue, with the sums before it.
struct Anchor {
  ChunkKey key;
  PrefixSums before;
};

// The chunks from one anchor to the next, or to the end of what was scanned.
struct IntervalPlace {
  // Bytes after an interval that its scan reads: formats look for the next header after the last chunk.
  static constexpr std::uint64_t kReadAfter = 64u << 10;

  Anchor from;
  PrefixSums until;
};

}  // namespace recordfs
