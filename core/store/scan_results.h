// What a scan has found so far, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/store/scanner.h"

namespace recordfs {

using IndexedChunks = std::vector<IndexedChunk>;

// The bounds of a Catalog.
struct CatalogBounds {
  std::size_t anchors = 16384;           // even; 56 bytes each
  std::uint64_t chunks_per_anchor = 64;  // initial stride
  std::size_t cached_chunks = 32768;     // in the cache of intervals
  std::size_t damage_rows = 65536;
  std::size_t cached_sizes = std::size_t{1} << 18;  // chunks whose measured sizes are cached
};

// A place from which a scan can continue, with the sums before it.
struct Anchor {
  ChunkKey key;
  PrefixSums before;
};

// The results of a complete scan.
struct CatalogSnapshot {
  std::uint64_t stride = 0;  // chunks from one anchor to the next
  std::vector<Anchor> anchors;
  PrefixSums totals;
  bool sizes_known = true;
  std::vector<DamageRow> damage;
  std::vector<CachedSizes> cached_sizes;  // of the first chunks
};

// The chunks from one anchor to the next, or to the end of what was scanned.
struct IntervalPlace {
  Anchor from;
  PrefixSums until;
};

// Returns what was measured of the chunks [begin, end).
std::vector<CachedSizes> cached_sizes_between(const std::vector<CachedSizes>& all, std::uint64_t begin,
                                              std::uint64_t end);

// Returns the chunk in which `value` falls along `search_key`. `chunks` are consecutive. kNotFound.
Result<IndexedChunk> search(const IndexedChunks& chunks, SearchKey search_key, std::uint64_t value);

// Extends `last` by the region that follows it in a scan, if both are pieces of one: adjacent, of equal class and
// reason, with no record between them (`is_apart`: there is one). Returns whether it did.
bool join_regions(DamagedRegion& last, const DamagedRegion& next, bool is_apart);

// Not thread-safe.
class ScanResults {
 public:
  explicit ScanResults(const CatalogBounds& bounds) : bounds_(bounds), stride_(bounds.chunks_per_anchor) {}

  // Adds the results of a step that began at `key`: its chunk, and its damage, of which join_regions() makes rows of
  // index/damage.tsv. If it throws std::bad_alloc, nothing was changed: it reserves all
  // memory first. Returns the interval that the step's chunk ends, with its chunks, which are likely to be read soon.
  struct Ended {
    IntervalPlace place;
    IndexedChunks chunks;
  };
  std::optional<Ended> add(const Scanner& scanner, ChunkKey key);

  // Takes over earlier results. If the file has grown since, drops what follows the last anchor, and returns from where
  // a scan has to continue.
  std::optional<ChunkKey> take(CatalogSnapshot snapshot, bool has_grown);
  CatalogSnapshot snapshot() const { return {stride_, anchors_, totals_, sizes_known_, *damage_, cached_sizes_}; }

  const PrefixSums& totals() const { return totals_; }
  // Returns whether every chunk's decoded size is known without decoding it.
  bool sizes_known() const { return sizes_known_; }
  // Grows with add().
  const std::shared_ptr<std::vector<DamageRow>>& damage() const { return damage_; }

  // Returns the interval in which `value` falls; nullopt if that is before the first chunk. REQUIRES: it was reached.
  std::optional<IntervalPlace> interval(SearchKey search_key, std::uint64_t value) const;
  // Returns what was measured of an interval's chunks.
  std::vector<CachedSizes> cached_sizes(const IntervalPlace& interval) const {
    return cached_sizes_between(cached_sizes_, interval.from.before.chunks, interval.until.chunks);
  }
  // Returns the chunks from the last anchor on, if `from` is that anchor and they were scanned here; null otherwise.
  const IndexedChunks* tail(const Anchor& from) const;

 private:
  void add_damage(DamageRow row, std::string& too_many);
  std::optional<Ended> add_anchor(ChunkKey key, const PrefixSums& before, IndexedChunks next_tail);

  const CatalogBounds bounds_;
  PrefixSums totals_;
  std::uint64_t stride_;
  std::vector<Anchor> anchors_;
  IndexedChunks tail_;    // chunks after the last anchor, if has_tail_
  bool has_tail_ = true;  // false: they were not scanned here
  bool sizes_known_ = true;
  std::shared_ptr<std::vector<DamageRow>> damage_ = std::make_shared<std::vector<DamageRow>>();
  std::vector<CachedSizes> cached_sizes_;  // of the first chunks
};

}  // namespace recordfs
