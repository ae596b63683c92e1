#include "core/store/indexed_chunk.h"

#include <algorithm>

#include <fmt/format.h>

namespace recordfs {
namespace {

std::uint64_t digits(std::uint64_t number) {
  std::uint64_t count = 1;
  for (; number >= 10; number /= 10) ++count;
  return count;
}

std::string number_or_dash(const std::optional<std::uint64_t>& number) {
  return number ? fmt::format("{}", *number) : "-";
}

std::uint64_t number_or_dash_size(const std::optional<std::uint64_t>& number) { return number ? digits(*number) : 1; }

constexpr std::uint64_t kSeparators = 8;  // seven tabs and a newline
constexpr std::uint64_t kLargestDecoded = std::uint64_t{1} << 48;

}  // namespace

// A header may declare any size. The chunks after it must remain reachable.
std::uint64_t counted_size(const ChunkInfo& chunk) {
  const std::uint64_t size = chunk.decoded_size.value_or(1);
  return size > kLargestDecoded ? 1 : size;
}

std::uint64_t PrefixSums::at(SearchKey search_key) const {
  switch (search_key) {
    case SearchKey::kChunks: return chunks;
    case SearchKey::kRecords: return records;
    case SearchKey::kBytes: return bytes;
    case SearchKey::kLines: return bytes + records;
    case SearchKey::kRows: return rows;
    case SearchKey::kPosition: return position;
  }
  return 0;
}

PrefixSums IndexedChunk::after() const {
  return {.chunks = before.chunks + 1,
          .records = before.records + chunk.records.value_or(0),
          .bytes = before.bytes + std::min(counted_size(chunk), kLargestSum - before.bytes),
          .rows = before.rows + chunk_row_size(*this),
          .position = chunk.end};
}

std::string chunk_rows_header() { return "begin\tend\tkind\tcodec\tfirst_ordinal\trecords\tstored\tdecoded\n"; }

std::string chunk_row(const IndexedChunk& indexed) {
  const ChunkInfo& chunk = indexed.chunk;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", chunk.begin, chunk.end, chunk.kind, chunk.codec,
                     indexed.before.records, number_or_dash(chunk.records), chunk.stored_size,
                     number_or_dash(chunk.payload_size()));
}

std::uint64_t chunk_row_size(const IndexedChunk& indexed) {
  const ChunkInfo& chunk = indexed.chunk;
  return digits(chunk.begin) + digits(chunk.end) + chunk.kind.size() + chunk.codec.size() +
         digits(indexed.before.records) + number_or_dash_size(chunk.records) + digits(chunk.stored_size) +
         number_or_dash_size(chunk.payload_size()) + kSeparators;
}

}  // namespace recordfs
