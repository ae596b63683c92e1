// One pass over a container from a place on: steps through scan(), keeps the sums, and sees to it that
// the scan moves and ends.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/formats/container.h"
#include "core/store/indexed_chunk.h"

namespace recordfs {

// What a scan has to know of a chunk before it goes on.
enum class ScanDetail : std::uint8_t {
  kHeaders,  // what its header says
  kCounts,   // how many records
  kSizes,    // and how many bytes they have together
};

// Makes the layout of a chunk; fails as Container::layout does. Whoever scans for others may hold it back until there
// is memory for it.
using MakeLayout = std::function<Result<Layout>(const ChunkInfo&)>;

// Fills in what a chunk's header leaves open and `detail` asks for, from its layout. Returns why its number of records
// stays unknown, or nothing; a chunk of which it stays unknown counts as empty. Fails as Container::layout does when
// another try may end otherwise.
Result<std::optional<Error>> measure(const MakeLayout& make_layout, ScanDetail detail, ChunkInfo& chunk);

// What a layout has told of a chunk whose header says too little, so that nobody has to make the layout again.
struct CachedSizes {
  static constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t records = kNothing;  // kNothing: nothing was measured of this chunk
  std::uint32_t size = kNothing;     // of all records, in bytes; kNothing: it stays unknown
  bool operator==(const CachedSizes&) const = default;
};

// A region that the scan found unsound, with the ordinal of the first record behind it.
struct DamageRow {
  DamagedRegion region;
  std::uint64_t first_ordinal = 0;
};

// Not thread-safe: one scan, one thread.
class Scanner {
 public:
  // From the beginning, or from a place that an earlier scan over the same container reached.
  // Without `make_layout` the container makes layouts at once.
  Scanner(const Container& container, Position container_size, ScanDetail detail, MakeLayout make_layout = {});
  // `cached_sizes` is what an earlier scan has measured of the next chunks, in their order: it is believed.
  Scanner(const Container& container, Position container_size, ScanDetail detail, ChunkKey from, PrefixSums before,
          std::vector<CachedSizes> cached_sizes = {}, MakeLayout make_layout = {});

  // Takes one step. What it found is in chunk() and damage() until the next. Fails as Container::scan and measure()
  // do, and with kOutOfMemory; the scan has not moved then and may be tried again. REQUIRES: !at_end().
  Result<void> step();

  const std::optional<IndexedChunk>& chunk() const { return chunk_; }
  // What this scan had to measure of chunk(); CachedSizes() where its header says enough, or has numbers that are too
  // large.
  const CachedSizes& measured() const { return measured_; }
  const std::vector<DamageRow>& damage() const { return damage_; }
  bool at_end() const { return !next_.has_value(); }
  // Where the next step goes on. REQUIRES: !at_end().
  ChunkKey next() const { return *next_; }
  // The sums over all that was found so far.
  const PrefixSums& totals() const { return totals_; }

 private:
  Result<void> take_step();
  Result<std::optional<Error>> measure_or_recall(ChunkInfo& chunk);

  const Container& container_;
  const ScanDetail detail_;
  const MakeLayout make_layout_;
  std::uint64_t steps_left_;
  const std::vector<CachedSizes> cached_sizes_;
  const std::uint64_t cached_from_;  // number of the chunk that `cached_sizes_` begins with
  std::optional<ChunkKey> next_;
  PrefixSums totals_;
  std::optional<IndexedChunk> chunk_;
  CachedSizes measured_;
  std::vector<DamageRow> damage_;
};

}  // namespace recordfs
