// Finds the chunk that holds an ordinal, a byte of a stream, or a row, while it scans the container.
//
// One scan from beginning to end runs in the catalog's own thread. Memory is bounded: the catalog keeps an anchor every
// `stride` chunks, and drops every other anchor if there are too many. find() scans the interval between two anchors
// again, on the calling thread, and caches it. Concurrent calls for one interval share that scan. Sizes that only a
// layout tells are cached too, for the first Bounds::cached_sizes chunks.
//
// All functions may be called from any thread. Only find() and the destructor may block; the destructor cancels the
// scan and joins its thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/store/indexed_chunk.h"
#include "core/store/saved_index.h"
#include "core/store/scanner.h"
#include "core/store/shared_cache.h"
#include "core/store/snapshot.h"
#include "core/store/wait_ticket.h"

namespace recordfs {

class SequentialPass;

class Catalog final : public Waitable {
 public:
  struct Bounds {
    std::size_t anchors = 16384;           // even; 56 bytes each
    std::uint64_t chunks_per_anchor = 64;  // initial stride
    std::size_t cached_chunks = 32768;     // in the cache of intervals
    std::size_t damage_rows = 65536;
    std::size_t cached_sizes = std::size_t{1} << 18;  // chunks whose measured sizes are cached
  };
  struct ScanState {
    PrefixSums totals;
    bool complete = false;
    bool is_scanning = false;
    bool sizes_known = true;  // false: a chunk's decoded size is only known after decoding
  };

  // Receives each row of damage once, when it can no longer grow. Called on the scan's thread, without a lock. Must not
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
  ~Catalog() override;

  // Starts the scan in its thread, or continues one that failed.
  void start();

  ScanState state() const;

  // Returns the chunk in which `value` falls along `search_key`. May block: it may scan an interval. Fails with
  // kNotFound if there is none, and with kPending if the scan has not reached it. Fails with an error
  // that stopped the scan, once. Fails with kChanged if the file no longer matches. Also fails like Container::scan()
  // and SharedCache::get(), whose kPending has no Error::wait.
  Result<IndexedChunk> find(SearchKey search_key, std::uint64_t value);

  // Returns the sums over the whole container. kPending until the scan is complete.
  Result<PrefixSums> totals();

  // Returns the damaged regions in scan order. Scanner turns each DamagedRegion of a Step into a row; the catalog joins
  // adjacent rows of equal class and reason. After Bounds::damage_rows, the last row covers all later damage. kPending
  // until the scan is complete.
  Result<std::shared_ptr<const std::vector<DamageRow>>> damage();

  // Returns all results of the scan; nullopt until it is complete, and after invalidate().
  std::optional<CatalogSnapshot> snapshot() const;

  // Marks the results as wrong, and removes the saved index that they came from.
  void invalidate();

  // Starts the scan. `resume` runs on the scan's thread.
  std::uint64_t wait(const WaitTicket& ticket, std::function<void()> resume) override;
  bool cancel(std::uint64_t wait_id) override;

 private:
  using IndexedChunks = std::vector<IndexedChunk>;
  // The chunks from one anchor to the next.
  struct Interval {
    IndexedChunks chunks;
    std::uint64_t memory() const { return chunks.capacity() * sizeof(IndexedChunk); }
  };
  using CachedIntervals = SharedCache<Interval>;
  struct Waiter {
    std::uint64_t wait_id;
    std::function<void()> resume;
  };
  using Waiters = std::multimap<std::uint64_t, Waiter>;  // by the value that they wait for
  static constexpr std::size_t kSearchKeys = 6;

  void run();
  // `pass`: null to read only what the scan needs.
  void run_scan(std::unique_lock<std::mutex>& lock, SequentialPass* pass);
  void fail(Error error);
  std::optional<SavedIndex::Loaded> read_saved() const;
  std::optional<SavedIndex::Loaded> read_known();
  void restore(std::unique_lock<std::mutex>& lock);
  bool cut_back(CatalogSnapshot& snapshot) const;
  bool leads_to(const Anchor& from, const Anchor& to, std::vector<CachedSizes> cached_sizes) const;
  bool has_same_damage(const CatalogSnapshot& snapshot) const;
  bool can_continue_from(const CatalogSnapshot& snapshot) const;
  CatalogSnapshot all_found() const { return {stride_, anchors_, totals_, sizes_known_, *damage_, cached_sizes_}; }
  void save(std::unique_lock<std::mutex> lock);
  void report_scanned(std::unique_lock<std::mutex>& lock) const;
  void note(const Scanner& scanner, ChunkKey key);
  void note_damage(DamageRow row, std::string& too_many);
  void keep_tail(const PrefixSums& until);
  void add_anchor(ChunkKey key, const PrefixSums& before, IndexedChunks next_tail);
  void remember(std::uint64_t chunk, const CachedSizes& sizes);
  // The key includes the length, because the stride may have doubled.
  static CacheKey interval_key(const PrefixSums& from, const PrefixSums& until) { return {until.chunks, from.chunks}; }
  Result<CachedIntervals::Pointer> scan_interval(const Anchor& from, const PrefixSums& until,
                                                 std::vector<CachedSizes> cached_sizes) const;
  bool reached(SearchKey search_key, std::uint64_t value) const;
  bool remove_waiter(std::uint64_t wait_id);
  Waiters take_reached();
  void report(const std::vector<DamageRow>& rows) const;
  std::vector<DamageRow> take_final_damage();
  void announce(std::unique_lock<std::mutex>& lock);
  Error pending(SearchKey search_key, std::uint64_t value);
  static Result<IndexedChunk> search(const IndexedChunks& chunks, SearchKey search_key, std::uint64_t value);

  const Container& container_;
  const Source& source_;
  const ScanDetail detail_;
  const Bounds bounds_;
  const bool reads_whole_;
  const OnDamage on_damage_;
  const MakeLayout make_layout_;
  const OnScanned on_scanned_;
  const std::unique_ptr<SavedIndex> saved_;  // used by the scan's thread
  std::optional<CatalogSnapshot> shorter_;   // used by the scan's thread
  CachedIntervals intervals_;

  mutable std::mutex mutex_;
  std::thread thread_;
  bool running_ = false;
  bool stopping_ = false;
  std::atomic<bool> cancelled_{false};  // set with stopping_, to cancel the work on a chunk
  bool complete_ = false;
  bool sizes_known_ = true;
  std::optional<Error> failure_;  // stopped the scan, and was not returned yet
  ChunkKey resume_at_;            // where to continue after a failure
  PrefixSums totals_;
  std::uint64_t stride_;
  std::vector<Anchor> anchors_;
  IndexedChunks tail_;    // chunks after the last anchor, if has_tail_
  bool has_tail_ = true;  // false: they were not scanned here
  bool is_restored_ = false;
  bool is_invalid_ = false;  // the restored results do not match the file
  bool asked_known_ = false;
  std::chrono::steady_clock::duration scan_time_{};
  std::shared_ptr<std::vector<DamageRow>> damage_ =
      std::make_shared<std::vector<DamageRow>>();  // grows until complete_
  std::size_t reported_rows_ = 0;                  // number of rows passed to on_damage_
  std::vector<CachedSizes> cached_sizes_;          // of the first chunks
  std::array<Waiters, kSearchKeys> waiters_;
  std::uint64_t next_wait_id_ = 1;
};

}  // namespace recordfs
