// Where a chunk stands in its container's scan, and the row that index/chunks.tsv has for it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "core/formats/container.h"

namespace recordfs {

// What no sum of records or of decoded bytes goes beyond.
inline constexpr std::uint64_t kLargestSum = std::uint64_t{1} << 62;

// What a chunk counts for in a sum of decoded bytes: 1 where its size is not known, or is larger than anything that is
// ever decoded.
std::uint64_t counted_size(const ChunkInfo& chunk);

// The search keys by which a chunk is found: each grows along the scan.
enum class SearchKey : std::uint8_t {
  kChunks,    // number of the chunk
  kRecords,   // ordinal of a record
  kBytes,     // offset in the concatenation of all records
  kLines,     // the same with one byte behind each record
  kRows,      // offset in the rows of index/chunks.tsv
  kPosition,  // byte of the file; only where the scan goes in file order
};

// Sums over the chunks that stand before a place.
struct PrefixSums {
  std::uint64_t chunks = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of the chunks' counted_size(); kLargestSum at the most
  std::uint64_t rows = 0;
  Position position = 0;

  std::uint64_t at(SearchKey search_key) const;
};

// A chunk and what stands before it.
struct IndexedChunk {
  ChunkInfo chunk;
  PrefixSums before;

  // What stands before the next chunk. The position is the chunk's end.
  PrefixSums after() const;
};

// Behind all places: for a ticket that is reached when the scan is over.
inline constexpr std::uint64_t kEverything = std::numeric_limits<std::uint64_t>::max();

// The header line of index/chunks.tsv, and the line of one chunk; "-" for what only a decode would tell.
std::string chunk_rows_header();
std::string chunk_row(const IndexedChunk& indexed);
// The length of chunk_row().
std::uint64_t chunk_row_size(const IndexedChunk& indexed);

}  // namespace recordfs
