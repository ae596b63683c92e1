// Where a chunk stands in its container's walk, and the row that index/chunks.tsv has for it.
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

// The coordinates by which a chunk is found: each grows along the walk.
enum class Coordinate : std::uint8_t {
  kChunks,    // number of the chunk
  kRecords,   // ordinal of a record
  kBytes,     // offset in the concatenation of all records
  kLines,     // the same with one byte behind each record
  kRows,      // offset in the rows of index/chunks.tsv
  kPosition,  // byte of the file; only where the walk goes in file order
};

// Sums over the chunks that stand before a place.
struct Totals {
  std::uint64_t chunks = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // of the chunks' counted_size(); kLargestSum at the most
  std::uint64_t rows = 0;
  Position position = 0;

  std::uint64_t at(Coordinate coordinate) const;
};

// A chunk and what stands before it.
struct Place {
  ChunkInfo chunk;
  Totals before;

  // What stands before the next chunk. The position is the chunk's end.
  Totals after() const;
};

// Behind all places: for a goal that is reached when the walk is over.
inline constexpr std::uint64_t kEverything = std::numeric_limits<std::uint64_t>::max();

// The header line of index/chunks.tsv, and the line of one chunk; "-" for what only a decode would tell.
std::string chunk_rows_header();
std::string chunk_row(const Place& place);
// The length of chunk_row().
std::uint64_t chunk_row_size(const Place& place);

}  // namespace recordfs
