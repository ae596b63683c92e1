// Catalog: finds the chunk that holds an ordinal, a byte of a stream, or a row, while one thread scans
// the container from the beginning to the end.
//
// It grows forwards only and in bounded memory: every so many chunks it keeps an anchor, and when there
// are too many anchors it drops every other one. What stands between two anchors is scanned again when it
// is asked for, and kept for a while; what only a layout tells of a chunk is not measured again then. All functions may
// be called from any thread.
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
    std::size_t anchors = 16384;           // even
    std::uint64_t chunks_per_anchor = 64;  // at first
    std::size_t cached_chunks = 32768;     // of the intervals between anchors
    std::size_t damage_rows = 65536;
    std::size_t cached_sizes = std::size_t{1} << 18;  // from the first on, of which sizes are cached
  };
  struct ScanState {
    PrefixSums totals;
    bool complete = false;
    bool is_scanning = false;
    bool sizes_known = true;  // no chunk so far whose decoded size only a decode would tell
  };

  // Told of each row of damage once, when the scan has come so far that it grows no more. Called from the scan's
  // thread, without a lock. It must not call the catalog.
  using OnDamage = std::function<void(const DamageRow&)>;

  // Told when a scan has come to the end: what it has counted, and how long it took. Called as OnDamage is.
  using OnScanned = std::function<void(const PrefixSums&, std::chrono::steady_clock::duration)>;

  // `container` reads from `source`; both have to outlive the catalog. The scan starts with the first wait() or
  // start(). What `saved` has of the container takes the place of the scan, or of its beginning; null: nothing is
  // saved. `make_layout` makes all layouts that the catalog needs, on the scan's thread and on those of callers.
  // `reads_whole`: the scan reads the whole file in large pieces, not only the headers. That is quicker where each
  // request takes long, and slower for large chunks elsewhere.
  // `shorter` is what a catalog with the same detail and bounds has found in the file when it was shorter: the scan
  // goes on behind what the bytes that were added can't have changed.
  Catalog(const Container& container, const Source& source, ScanDetail detail, Bounds bounds, OnDamage on_damage = {},
          std::unique_ptr<SavedIndex> saved = {}, MakeLayout make_layout = {}, OnScanned on_scanned = {},
          std::optional<CatalogSnapshot> shorter = {}, bool reads_whole = false);
  ~Catalog() override;

  // Begins the scan in the background, or goes on with one that failed for a passing reason.
  void start();

  ScanState state() const;

  // The chunk in which `value` falls along `search_key`. kPending with `ticket` set: the scan has not come by
  // yet. kNotFound: there is none. Fails as Container::scan does, also with what has stopped the scan.
  Result<IndexedChunk> find(SearchKey search_key, std::uint64_t value, WaitTicket& ticket);

  // The sums over the whole container. kPending with `ticket` set until the scan is over.
  Result<PrefixSums> totals(WaitTicket& ticket);

  // The regions found unsound, in the order of the scan; beyond Bounds::damage_rows the last row stands for
  // all that follow. kPending with `ticket` set until the scan is over.
  Result<std::shared_ptr<const std::vector<DamageRow>>> damage(WaitTicket& ticket);

  // All that the scan has found; nullopt until it is over, and where it is known to be wrong.
  std::optional<CatalogSnapshot> snapshot() const;

  // What was told of a chunk is not so. If it comes from what was saved, that is taken away.
  void invalidate();

  // Reached as find() has it; the thread is the scan's.
  std::uint64_t wait(const WaitTicket& ticket, std::function<void()> resume) override;
  bool cancel(std::uint64_t wait_id) override;

 private:
  using IndexedChunks = std::vector<IndexedChunk>;
  // The chunks from an anchor to the next.
  struct Interval {
    IndexedChunks chunks;
    std::uint64_t memory() const { return chunks.capacity() * sizeof(IndexedChunk); }
  };
  using CachedIntervals = SharedCache<Interval>;
  struct Waiter {
    std::uint64_t wait_id;
    std::function<void()> resume;
  };
  using Waiters = std::multimap<std::uint64_t, Waiter>;  // by what they wait for
  static constexpr std::size_t kSearchKeys = 6;

  void run();
  // `pass`: null where only what the scan needs is read.
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
  // Of an interval. One of another length is another one: the stride may have doubled since.
  static CacheKey interval_key(const PrefixSums& from, const PrefixSums& until) { return {until.chunks, from.chunks}; }
  Result<CachedIntervals::Pointer> scan_interval(const Anchor& from, const PrefixSums& until,
                                                 std::vector<CachedSizes> cached_sizes) const;
  bool reached(SearchKey search_key, std::uint64_t value) const;
  bool remove_waiter(std::uint64_t wait_id);
  Waiters take_reached();
  void tell(const std::vector<DamageRow>& rows) const;
  std::vector<DamageRow> take_final_damage();
  void announce(std::unique_lock<std::mutex>& lock);
  Error pending(SearchKey search_key, std::uint64_t value, WaitTicket& ticket);
  static Result<IndexedChunk> search(const IndexedChunks& chunks, SearchKey search_key, std::uint64_t value);

  const Container& container_;
  const Source& source_;
  const ScanDetail detail_;
  const Bounds bounds_;
  const bool reads_whole_;
  const OnDamage on_damage_;
  const MakeLayout make_layout_;
  const OnScanned on_scanned_;
  const std::unique_ptr<SavedIndex> saved_;  // read and written by the scan's thread
  std::optional<CatalogSnapshot> shorter_;   // taken by the scan's thread
  CachedIntervals intervals_;

  mutable std::mutex mutex_;
  std::thread thread_;
  bool running_ = false;
  bool stopping_ = false;
  std::atomic<bool> cancelled_{false};  // the same, for who is in the middle of a chunk
  bool complete_ = false;
  bool sizes_known_ = true;
  std::optional<Error> failure_;  // what stopped the scan; it may be started again
  ChunkKey resume_at_;            // where to go on after a failure
  PrefixSums totals_;
  std::uint64_t stride_;
  std::vector<Anchor> anchors_;
  IndexedChunks tail_;    // the chunks since the last anchor ...
  bool has_tail_ = true;  // ... unless they were not scanned here
  bool is_restored_ = false;
  bool is_invalid_ = false;  // what was restored is not what stands in the file
  bool asked_known_ = false;
  std::chrono::steady_clock::duration scan_time_{};
  std::shared_ptr<std::vector<DamageRow>> damage_ =
      std::make_shared<std::vector<DamageRow>>();  // grows until complete_
  std::size_t reported_rows_ = 0;                  // rows of damage that on_damage_ was told of
  std::vector<CachedSizes> cached_sizes_;          // of the chunks from the first on
  std::array<Waiters, kSearchKeys> waiters_;
  std::uint64_t next_wait_id_ = 1;
};

}  // namespace recordfs
