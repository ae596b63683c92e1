// One scan over a container from a given place: calls Container::scan() step by step, keeps the sums, and ends after a
// bounded number of steps.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/formats/container.h"
#include "core/store/indexed_chunk.h"

namespace recordfs {

// What a scan must know of each chunk.
enum class ScanDetail : std::uint8_t {
  kHeaders,  // only its header
  kCounts,   // its number of records
  kSizes,    // its number of records and their total size
};

// Makes the layout of a chunk. May block until there is memory for it. Fails like Container::layout().
using MakeLayout = std::function<Result<Layout>(const RequestContext& context, const ChunkInfo&)>;

// Fills in what `detail` needs and the header of `chunk` does not tell, from the layout. If the number of records stays
// unknown, returns why, and counts the chunk as empty; otherwise returns nullopt. Fails like Container::layout() if a
// retry may succeed.
Result<std::optional<Error>> measure(const RequestContext& context, const MakeLayout& make_layout, ScanDetail detail,
                                     ChunkInfo& chunk);

// Sizes that were measured by a layout, to avoid making the layout again.
struct CachedSizes {
  static constexpr std::uint32_t kNothing = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t records = kNothing;  // kNothing: this chunk was not measured
  std::uint32_t size = kNothing;     // of all records, in bytes; kNothing: unknown
  bool operator==(const CachedSizes&) const = default;
};

// A damaged region, with the ordinal of the first record after it.
struct DamageRow {
  DamagedRegion region;
  std::uint64_t first_ordinal = 0;
};

// Runs on the thread that calls step(). Not thread-safe.
class Scanner {
 public:
  // Scans from the beginning. Without `make_layout`, calls Container::layout().
  Scanner(const Container& container, Position container_size, ScanDetail detail, MakeLayout make_layout = {});
  // Scans from a place that an earlier scan of the container reached, with the sums there. `cached_sizes` are trusted
  // sizes of the next chunks, in order.
  Scanner(const Container& container, Position container_size, ScanDetail detail, ChunkKey from, PrefixSums before,
          std::vector<CachedSizes> cached_sizes = {}, MakeLayout make_layout = {});

  // Takes one step, whose results are in chunk() and damage() until the next. Here the damage of a Step becomes rows;
  // so does a chunk whose records cannot be counted. Fails like Container::scan() and measure(), and throws
  // std::bad_alloc; then the same step can be retried. REQUIRES: !at_end().
  Result<void> step(const RequestContext& context);

  const std::optional<IndexedChunk>& chunk() const { return chunk_; }
  // Returns what this scan measured of chunk(); CachedSizes() if nothing was, or the numbers are too large.
  const CachedSizes& measured() const { return measured_; }
  const std::vector<DamageRow>& damage() const { return damage_; }
  bool at_end() const { return !next_.has_value(); }
  // Returns where the next step begins. REQUIRES: !at_end().
  ChunkKey next() const { return *next_; }
  const PrefixSums& totals() const { return totals_; }

 private:
  Result<std::optional<Error>> measure_or_recall(const RequestContext& context, ChunkInfo& chunk);

  const Container& container_;
  const ScanDetail detail_;
  const MakeLayout make_layout_;
  std::uint64_t steps_left_;
  const std::vector<CachedSizes> cached_sizes_;
  const std::uint64_t cached_from_;  // number of the first chunk in cached_sizes_
  std::optional<ChunkKey> next_;
  PrefixSums totals_;
  std::optional<IndexedChunk> chunk_;
  CachedSizes measured_;
  std::vector<DamageRow> damage_;
};

}  // namespace recordfs
