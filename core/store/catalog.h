// Finds the chunk that holds an ordinal, a byte of a stream, or a row, while it scans the container.
//
// One scan from beginning to end runs in the catalog's own thread. A scan of a remote source pauses while nothing waits
// for it, and fails if it has to request more bytes than Bounds::remote permits. Memory is bounded: the catalog keeps
// an anchor every `stride` chunks, and drops every other anchor if there are too many. find() scans the interval
// between two anchors again, on the calling thread, and caches it. Concurrent calls for one interval share that scan.
// Sizes that only a layout tells are cached too, for the first Bounds::cached_sizes chunks.
//
// All functions may be called from any thread. Only find() and the destructor may block, and unless
// Bounds::reports_ahead totals() and damage(); the destructor cancels the scan and joins its thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/store/background_work.h"
#include "core/store/saved_index.h"
#include "core/store/scanner.h"
#include "core/store/shared_cache.h"

namespace recordfs {

class PrefetchBuffer;

// The chunks of an interval.
struct Interval {
  IndexedChunks chunks;
  std::uint64_t memory() const { return chunks.capacity() * sizeof(IndexedChunk); }
};

class Catalog final : public BackgroundWork {
 public:
  using Bounds = CatalogBounds;
  struct ScanState {
    PrefixSums totals;
    bool complete = false;
    bool is_scanning = false;
    bool sizes_known = true;  // false: a chunk's decoded size is only known after decoding
  };

  // Receives each row of damage once, in order, when it can no longer grow. Called without a lock, on the scan's
  // thread. Unless Bounds::reports_ahead, a thread that calls find(), totals() or damage() may call it, too. Must not
  // call the catalog.
  using OnDamage = std::function<void(const DamageRow&)>;

  // Receives the totals and the duration of a complete scan. Called like OnDamage.
  using OnScanned = std::function<void(const PrefixSums&, std::chrono::steady_clock::duration)>;

  // `container` reads from `source`; both must outlive the catalog. The scan starts with the first wait() or start().
  // `saved` replaces the scan, or its beginning; null: no saved index. `make_layout` makes all layouts, on the scan's
  // thread and on callers' threads. `shorter` is the snapshot of a catalog with the same detail and bounds, from when
  // the file was shorter. The scan keeps what is still valid of it. `reads_whole`: the scan reads the whole file in
  // large pieces, not only headers. That is faster if each request takes long, and slower for large chunks elsewhere.
  Catalog(const Container& container, const Source& source, ScanDetail detail, Bounds bounds, OnDamage on_damage = {},
          std::unique_ptr<SavedIndex> saved = {}, MakeLayout make_layout = {}, OnScanned on_scanned = {},
          std::optional<CatalogSnapshot> shorter = {}, bool reads_whole = false);
  ~Catalog() override { stop(); }

  ScanState state() const;

  // Returns the chunk in which `value` falls along `search_key`. May block: it may scan an interval. Fails with
  // kNotFound if there is none, and with kPending if the scan has not reached it. Fails with an error
  // that stopped the scan, once. Fails with kChanged if the file no longer matches. Also fails like Container::scan()
  // and SharedCache::get(), whose kPending has no Error::wait.
  Result<IndexedChunk> find(const RequestContext& context, SearchKey search_key, std::uint64_t value);

  // Returns the sums over the whole container. kPending until the scan is complete.
  Result<PrefixSums> totals();

  // Returns the damaged regions in scan order. Scanner turns each DamagedRegion of a Step into a row; ScanResults
  // joins adjacent rows of equal class and reason. After Bounds::damage_rows, the last row covers all later damage.
  // kPending until the scan is complete.
  Result<std::shared_ptr<const std::vector<DamageRow>>> damage();

  // What is counted of a container.
  struct Counted {
    PrefixSums totals;
    std::uint64_t damaged_regions = 0;  // without stale ones
  };
  // Returns the sums and the number of damaged regions, and lets none of these be reported. kPending until the scan is
  // complete.
  Result<Counted> counted();

  // Returns all results of the scan; nullopt until it is complete, and after invalidate().
  std::optional<CatalogSnapshot> snapshot() const;

  // Marks the results as wrong, and removes the saved index that they came from.
  void invalidate();

 private:
  Result<void> work(const RequestContext& outer, Lock& lock) override;
  bool has_reached(SearchKey search_key, std::uint64_t value) const override;
  // `pass`: null to read only what the scan needs.
  Result<void> scan(const RequestContext& context, Lock& lock, PrefetchBuffer* pass);
  std::optional<SavedIndex::Loaded> read_saved(const RequestContext& context) const;
  std::optional<SavedIndex::Loaded> read_known(const RequestContext& context);
  void restore(const RequestContext& context, Lock& lock);
  // Fails with kIo (EFBIG) if what waits for the scan needs more bytes from the server than are permitted, as far as
  // that is known. REQUIRES: mutex_ is locked.
  Result<void> check_requested() const;
  void finish(Lock& lock);
  void keep(const RequestContext& context, ScanResults::Ended ended);
  // The key includes the length, because the stride may have doubled.
  static CacheKey key_of(const IntervalPlace& place) { return {place.until.chunks, place.from.before.chunks}; }
  void want(SearchKey search_key, std::uint64_t value, Lock& lock);
  bool can_report() const;
  void report_final_damage(Lock& lock);

  // Returns the chunks of an interval. `cached_sizes` are trusted. Fails with kChanged if the sums differ, and like
  // Scanner::step().
  Result<std::shared_ptr<const Interval>> scan_interval(const RequestContext& context, const Anchor& from,
                                                        const PrefixSums& until,
                                                        std::vector<CachedSizes> cached_sizes) const;
  // Returns whether a scan of the grown file would reach the last anchor as the earlier scan did.
  bool can_continue_from(const RequestContext& context, const CatalogSnapshot& snapshot) const;
  // Removes what may differ in the longer file: the interval after the last anchor, and anchors inside damage. All
  // remaining damage is before an anchor. Returns false if nothing remains.
  bool cut_back(const RequestContext& context, CatalogSnapshot& snapshot) const;
  bool leads_to(const RequestContext& context, const CatalogSnapshot& snapshot, const Anchor& from,
                const Anchor& to) const;
  bool has_same_damage(const RequestContext& context, const CatalogSnapshot& snapshot) const;

  const Container& container_;
  const Source& source_;
  const bool reads_whole_;
  const OnDamage on_damage_;
  const MakeLayout make_layout_;
  const ScanDetail detail_;
  const std::uint64_t chunks_per_anchor_;
  const RemoteScanLimit remote_;
  const bool reports_ahead_;
  const OnScanned on_scanned_;
  const std::unique_ptr<SavedIndex> saved_;  // used by the scan's thread
  std::optional<CatalogSnapshot> shorter_;   // used by the scan's thread
  SharedCache<Interval> intervals_;
  std::mutex report_mutex_;  // held while on_damage_ runs, so that rows keep their order; locked before mutex_

  // Guarded by mutex_:
  bool complete_ = false;
  ChunkKey next_;        // where the scan continues from results_
  ScanResults results_;  // the damage stays the same once complete_
  bool is_restored_ = false;
  bool is_invalid_ = false;  // the restored results do not match the file
  bool asked_known_ = false;
  std::chrono::steady_clock::duration scan_time_{};
  std::uint64_t requested_ = 0;    // bytes, by the scan
  std::size_t reported_rows_ = 0;  // number of rows passed to on_damage_
  // Rows before these places may be reported. kEverything: all rows.
  std::uint64_t wanted_records_ = 0;
  Position wanted_position_ = 0;
};

}  // namespace recordfs
