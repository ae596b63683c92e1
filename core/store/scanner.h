// One scan over a container from a given place: calls Container::scan() step by step, keeps the sums, and ends after a
// bounded number of steps. ScanResults: what a scan has found so far, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/store/chunk_places.h"
#include "core/store/indexed_chunk.h"

namespace recordfs {

// A WaitTicket for this value is reached when the scan is complete.
inline constexpr std::uint64_t kEverything = std::numeric_limits<std::uint64_t>::max();

// Return the header line of index/chunks.tsv, and the line of one chunk; "-" for what is only known after decoding.
std::string chunk_rows_header();
std::string chunk_row(const IndexedChunk& indexed);
std::uint64_t chunk_row_size(const IndexedChunk& indexed);

// What a scan must know of each chunk.
enum class ScanDetail : std::uint8_t {
  kHeaders,  // only its header
  kCounts,   // its number of records
  kSizes,    // its number of records and their total size
};

// Makes the layout of a chunk. May block until there is memory for it. Fails like Container::layout().
using MakeLayout =
    std::function<Result<std::shared_ptr<const Layout>>(const RequestContext& context, const ChunkInfo&)>;

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

  // Names the unreadable bytes of the container's source in regions with such bytes, which are damage like others.
  void name_unreadable(const Source& source) { source_ = &source; }

  // Continues elsewhere, with the sums there. chunk() and damage() are those of the last step.
  void move_to(ChunkKey next, const PrefixSums& before) {
    next_ = next;
    totals_ = before;
  }

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
  void complete(DamagedRegion& region) const;

  const Container& container_;
  const Position size_;  // of the container
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
  const Source* source_ = nullptr;
};

using IndexedChunks = std::vector<IndexedChunk>;

// How much a scan may request from a server.
struct RemoteScanLimit {
  std::uint64_t most = UINT64_MAX;  // bytes
  std::string_view advice{};        // what a user may do about it, for the error; static storage
};

// The bounds of a Catalog.
struct CatalogBounds {
  std::size_t anchors = 16384;           // even; 56 bytes each
  std::uint64_t chunks_per_anchor = 64;  // initial stride
  std::size_t cached_chunks = 32768;     // in the cache of intervals
  std::size_t damage_rows = 65536;
  std::size_t cached_sizes = std::size_t{1} << 18;  // chunks whose measured sizes are cached
  RemoteScanLimit remote{};
  // Whether damage is passed to Catalog::OnDamage as soon as the scan finds it. If not, it is passed once a caller asks
  // for a record or position after it, or for all damage.
  bool reports_ahead = true;
};

// The results of a complete scan.
struct CatalogSnapshot {
  std::uint64_t stride = 0;  // chunks from one anchor to the next
  std::vector<Anchor> anchors;
  PrefixSums totals;
  bool sizes_known = true;
  std::vector<DamageRow> damage;
  std::vector<CachedSizes> cached_sizes;  // of the first chunks
  ChunkPlaces places{};                   // likewise
};

// Returns what was measured of the chunks [begin, end).
std::vector<CachedSizes> cached_sizes_between(const std::vector<CachedSizes>& all, std::uint64_t begin,
                                              std::uint64_t end);

// Returns the chunk in which `value` falls along `search_key`. `chunks` are consecutive. kNotFound.
Result<IndexedChunk> search(const IndexedChunks& chunks, SearchKey search_key, std::uint64_t value);

// Extends `last` by the region that follows it in a scan, if both are pieces of one: adjacent, of equal class and
// reason, with no record between them (`is_apart`: there is one). Returns whether it did.
bool join_regions(DamagedRegion& last, const DamagedRegion& next, bool is_apart);

// What a scan has found so far, in bounded memory. Not thread-safe.
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
  CatalogSnapshot snapshot() const {
    return {stride_, anchors_, totals_, sizes_known_, *damage_, cached_sizes_, places_};
  }

  const PrefixSums& totals() const { return totals_; }
  // Returns whether every chunk's decoded size is known without decoding it.
  bool sizes_known() const { return sizes_known_; }
  // Grows with add().
  const std::shared_ptr<std::vector<DamageRow>>& damage() const { return damage_; }
  // Returns whether further steps may add to the last row: it is at the end, or covers all later damage. REQUIRES:
  // there is a row.
  bool last_row_may_grow() const {
    return damage_->size() >= bounds_.damage_rows || totals_.records <= damage_->back().first_ordinal;
  }

  // Returns the interval in which `value` falls; nullopt if that is before the first chunk. REQUIRES: it was reached.
  std::optional<IntervalPlace> interval(SearchKey search_key, std::uint64_t value) const;
  // Returns a part of that interval, of few bytes; nullopt if no places of chunks are known there.
  std::optional<IntervalPlace> part_of_interval(SearchKey search_key, std::uint64_t value) const {
    return places_.interval(search_key, value);
  }
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
  ChunkPlaces places_;                     // likewise
};

}  // namespace recordfs
