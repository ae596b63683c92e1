// Catalog: finds the chunk that holds an ordinal, a byte of a stream, or a row, while one thread walks
// the container from the beginning to the end.
//
// It grows forwards only and in bounded memory: every so many chunks it keeps an anchor, and when there
// are too many anchors it drops every other one. What stands between two anchors is walked again when it
// is asked for, and kept for a while; what only a layout tells of a chunk is not learnt again then. All functions may
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

#include "core/store/awaited.h"
#include "core/store/place.h"
#include "core/store/saved_index.h"
#include "core/store/shared_cache.h"
#include "core/store/snapshot.h"
#include "core/store/walk.h"

namespace recordfs {

class SequentialPass;

class Catalog final : public Awaited {
 public:
  struct Bounds {
    std::size_t anchors = 16384;           // even
    std::uint64_t chunks_per_anchor = 64;  // at first
    std::size_t kept_places = 32768;       // of the stretches between anchors
    std::size_t damage_rows = 65536;
    std::size_t learnt_chunks = std::size_t{1} << 18;  // from the first on, of which what was learnt is remembered
  };
  struct State {
    Totals totals;
    bool complete = false;
    bool is_walking = false;
    bool sizes_known = true;  // no chunk so far whose decoded size only a decode would tell
  };

  // Told of each row of damage once, when the walk has come so far that it grows no more. Called from the walk's
  // thread, without a lock. It must not call the catalog.
  using OnDamage = std::function<void(const DamageRow&)>;

  // Told when a walk has come to the end: what it has counted, and how long it took. Called as OnDamage is.
  using OnWalked = std::function<void(const Totals&, std::chrono::steady_clock::duration)>;

  // `container` reads from `source`; both have to outlive the catalog. The walk starts with the first wait() or
  // start(). What `saved` has of the container takes the place of the walk, or of its beginning; null: nothing is
  // saved. `make_layout` makes all layouts that the catalog needs, on the walk's thread and on those of callers.
  // `reads_whole`: the walk reads the whole file in large pieces, not only the headers. That is quicker where each
  // request takes long, and slower for large chunks elsewhere.
  // `shorter` is what a catalog with the same depth and bounds has found in the file when it was shorter: the walk
  // goes on behind what the bytes that were added can't have changed.
  Catalog(const Container& container, const Source& source, Depth depth, Bounds bounds, OnDamage on_damage = {},
          std::unique_ptr<SavedIndex> saved = {}, MakeLayout make_layout = {}, OnWalked on_walked = {},
          std::optional<CatalogSnapshot> shorter = {}, bool reads_whole = false);
  ~Catalog() override;

  // Begins the walk in the background, or goes on with one that failed for a passing reason.
  void start();

  State state() const;

  // The chunk in which `value` falls along `coordinate`. kPending with `goal` set: the walk has not come by
  // yet. kNotFound: there is none. Fails as Container::scan does, also with what has stopped the walk.
  Result<Place> find(Coordinate coordinate, std::uint64_t value, Goal& goal);

  // The sums over the whole container. kPending with `goal` set until the walk is over.
  Result<Totals> totals(Goal& goal);

  // The regions found unsound, in the order of the walk; beyond Bounds::damage_rows the last row stands for
  // all that follow. kPending with `goal` set until the walk is over.
  Result<std::shared_ptr<const std::vector<DamageRow>>> damage(Goal& goal);

  // All that the walk has found; nullopt until it is over, and where it is known to be wrong.
  std::optional<CatalogSnapshot> snapshot() const;

  // What was told of a chunk is not so. If it comes from what was saved, that is taken away.
  void refute();

  // Reached as find() has it; the thread is the walk's.
  std::uint64_t wait(const Goal& goal, std::function<void()> resume) override;
  bool cancel(std::uint64_t ticket) override;

 private:
  using Places = std::vector<Place>;
  // The places from an anchor to the next.
  struct Stretch {
    Places places;
    std::uint64_t memory() const { return places.capacity() * sizeof(Place); }
  };
  using KeptStretches = SharedCache<Stretch>;
  struct Waiter {
    std::uint64_t ticket;
    std::function<void()> resume;
  };
  using Waiters = std::multimap<std::uint64_t, Waiter>;  // by what they wait for
  static constexpr std::size_t kCoordinates = 6;

  void run();
  // `pass`: null where only what the walk needs is read.
  void take_walk(std::unique_lock<std::mutex>& lock, SequentialPass* pass);
  void fail(Error error);
  std::optional<SavedIndex::Found> read_saved() const;
  std::optional<SavedIndex::Found> read_known();
  void restore(std::unique_lock<std::mutex>& lock);
  bool cut_back(CatalogSnapshot& snapshot) const;
  bool leads_to(const Anchor& from, const Anchor& to, std::vector<Learnt> learnt) const;
  bool has_same_damage(const CatalogSnapshot& snapshot) const;
  bool may_go_on_from(const CatalogSnapshot& snapshot) const;
  CatalogSnapshot all_found() const { return {stride_, anchors_, totals_, sizes_known_, *damage_, learnt_}; }
  void save(std::unique_lock<std::mutex> lock);
  void tell_walked(std::unique_lock<std::mutex>& lock) const;
  void note(const Walk& walk, ChunkKey key);
  void note_damage(DamageRow row, std::string& too_many);
  void keep_tail(const Totals& until);
  void add_anchor(ChunkKey key, const Totals& before, Places next_tail);
  void remember(std::uint64_t chunk, const Learnt& learnt);
  // Of a stretch. One of another length is another one: the stride may have doubled since.
  static CacheKey stretch_key(const Totals& from, const Totals& until) { return {until.chunks, from.chunks}; }
  Result<KeptStretches::Pointer> walk_stretch(const Anchor& from, const Totals& until,
                                              std::vector<Learnt> learnt) const;
  bool reached(Coordinate coordinate, std::uint64_t value) const;
  bool remove_waiter(std::uint64_t ticket);
  Waiters take_reached();
  void tell(const std::vector<DamageRow>& rows) const;
  std::vector<DamageRow> take_settled();
  void announce(std::unique_lock<std::mutex>& lock);
  Error pending(Coordinate coordinate, std::uint64_t value, Goal& goal);
  static Result<Place> search(const Places& places, Coordinate coordinate, std::uint64_t value);

  const Container& container_;
  const Source& source_;
  const Depth depth_;
  const Bounds bounds_;
  const bool reads_whole_;
  const OnDamage on_damage_;
  const MakeLayout make_layout_;
  const OnWalked on_walked_;
  const std::unique_ptr<SavedIndex> saved_;  // read and written by the walk's thread
  std::optional<CatalogSnapshot> shorter_;   // taken by the walk's thread
  KeptStretches kept_;

  mutable std::mutex mutex_;
  std::thread thread_;
  bool running_ = false;
  bool stopping_ = false;
  std::atomic<bool> gave_up_{false};  // the same, for who is in the middle of a chunk
  bool complete_ = false;
  bool sizes_known_ = true;
  std::optional<Error> failure_;  // what stopped the walk; it may be started again
  ChunkKey resume_at_;            // where to go on after a failure
  Totals totals_;
  std::uint64_t stride_;
  std::vector<Anchor> anchors_;
  Places tail_;           // the places since the last anchor ...
  bool has_tail_ = true;  // ... unless they were not walked here
  bool is_restored_ = false;
  bool is_refuted_ = false;  // what was restored is not what stands in the file
  bool asked_known_ = false;
  std::chrono::steady_clock::duration walked_{};
  std::shared_ptr<std::vector<DamageRow>> damage_ =
      std::make_shared<std::vector<DamageRow>>();  // grows until complete_
  std::size_t told_ = 0;                           // rows of damage that on_damage_ was told of
  std::vector<Learnt> learnt_;                     // of the chunks from the first on
  std::array<Waiters, kCoordinates> waiters_;
  std::uint64_t next_ticket_ = 1;
};

}  // namespace recordfs
