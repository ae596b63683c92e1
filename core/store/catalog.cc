#include "core/store/catalog.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/read_window.h"
#include "core/base/request_context.h"
#include "core/base/sequential_pass.h"

namespace recordfs {
namespace {

constexpr std::string_view kTooManyRegions = "this and all following damage (too many regions to list)";

// Reserves memory, so that appending `more` elements does not throw.
template <class Element>
void make_room(std::vector<Element>& vector, std::size_t more) {
  if (vector.capacity() - vector.size() >= more) return;
  vector.reserve(std::max(vector.size() + more, 2 * vector.capacity()));
}

// Returns what was measured of the chunks [begin, end).
std::vector<CachedSizes> cached_sizes_between(const std::vector<CachedSizes>& all, std::uint64_t begin,
                                              std::uint64_t end) {
  const auto at = [&all](std::uint64_t chunk) {
    return all.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(chunk, all.size()));
  };
  return {at(begin), at(end)};
}

}  // namespace

Catalog::Catalog(const Container& container, const Source& source, ScanDetail detail, Bounds bounds, OnDamage on_damage,
                 std::unique_ptr<SavedIndex> saved, MakeLayout make_layout, OnScanned on_scanned,
                 std::optional<CatalogSnapshot> shorter, bool reads_whole)
    : container_(container),
      source_(source),
      detail_(detail),
      bounds_(bounds),
      reads_whole_(reads_whole),
      on_damage_(std::move(on_damage)),
      make_layout_(std::move(make_layout)),
      on_scanned_(std::move(on_scanned)),
      saved_(std::move(saved)),
      shorter_(std::move(shorter)),
      intervals_(bounds.cached_chunks * sizeof(IndexedChunk)),
      resume_at_(container.traits().first),
      stride_(bounds.chunks_per_anchor) {
  assert(bounds.anchors % 2 == 0);
}

Catalog::~Catalog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
}

void Catalog::start() {
  std::thread finished;
  {
    const std::lock_guard lock(mutex_);
    if (running_ || complete_ || stopping_) return;
    running_ = true;
    failure_.reset();
    finished = std::exchange(thread_, {});
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // std::thread reports a lack of threads only in this way.
      running_ = false;
      fail(shortage("no threads"));
    } catch (const std::bad_alloc&) {
      running_ = false;
      fail(shortage("no memory"));
    }
  }
  if (finished.joinable()) finished.join();
}

// Catches std::bad_alloc, because it runs at the top of a thread.
void Catalog::run() {
  const RequestContext context(RequestContext::Work::kAny, &cancelled_);
  std::optional<SequentialPass> whole;
  if (reads_whole_ && container_.traits().is_in_file_order) whole.emplace(source_);
  SequentialPass* const pass = whole ? &*whole : nullptr;
  const ReadWindow window(source_, pass);
  std::unique_lock lock(mutex_);
  restore(lock);
  const bool is_known = complete_;
  try {
    if (!is_known) run_scan(lock, pass);
  } catch (const std::bad_alloc&) {
    if (!lock.owns_lock()) lock.lock();
    fail(shortage("no memory"));
  }
  running_ = false;
  announce(lock);
  if (!complete_ || is_known) return;
  report_scanned(lock);
  save(std::move(lock));
}

// Drops the error if no request is waiting; the next request restarts the scan.
void Catalog::fail(Error error) {
  if (std::ranges::all_of(waiters_, [](const Waiters& waiters) { return waiters.empty(); })) return;
  failure_ = std::move(error);
}

void Catalog::report_scanned(std::unique_lock<std::mutex>& lock) const {
  if (!on_scanned_) return;
  const PrefixSums totals = totals_;
  const auto scanned = scan_time_;
  lock.unlock();
  try {
    on_scanned_(totals, scanned);
  } catch (const std::bad_alloc&) {
    // Only a log line is lost.
  }
  lock.lock();
}

// If it throws, the scan can continue from the same step.
void Catalog::run_scan(std::unique_lock<std::mutex>& lock, SequentialPass* pass) {
  const auto begin = std::chrono::steady_clock::now();
  Scanner scanner(container_, source_.size(), detail_, resume_at_, totals_, {}, make_layout_);
  while (!scanner.at_end() && !stopping_) {
    const ChunkKey key = scanner.next();
    lock.unlock();
    if (pass != nullptr) pass->advance(key.position);
    auto stepped = scanner.step();
    lock.lock();
    resume_at_ = key;
    if (!stepped) {
      fail(std::move(stepped).error());
      break;
    }
    note(scanner, key);
    announce(lock);
  }
  complete_ = scanner.at_end();
  scan_time_ += std::chrono::steady_clock::now() - begin;
}

// Returns whether a scan of the grown file would reach the last anchor as the earlier scan did.
bool Catalog::can_continue_from(const CatalogSnapshot& snapshot) const {
  const std::vector<Anchor>& anchors = snapshot.anchors;
  if (anchors.size() < 2 || !container_.traits().is_in_file_order) return false;
  // Recovery from damage may have depended on where the file ended.
  const Anchor& last = anchors.back();
  const bool is_sound =
      std::ranges::all_of(snapshot.damage, [&](const DamageRow& row) { return row.region.begin >= last.key.position; });
  if (!is_sound) return false;
  const Anchor& from = anchors[anchors.size() - 2];
  auto cached_sizes = cached_sizes_between(snapshot.cached_sizes, from.before.chunks, last.before.chunks);
  return scan_interval(from, last.before, std::move(cached_sizes)).has_value();
}

std::optional<SavedIndex::Loaded> Catalog::read_saved() const {
  auto found = saved_->read();
  if (!found || !found->has_grown) return found;
  if (!can_continue_from(found->snapshot)) return std::nullopt;
  found->snapshot.damage.clear();
  return found;
}

// Returns whether a scan from one anchor reaches the other with the same sums.
bool Catalog::leads_to(const Anchor& from, const Anchor& to, std::vector<CachedSizes> cached_sizes) const {
  const ReadWindow window(source_);
  Scanner scanner(container_, source_.size(), detail_, from.key, from.before, std::move(cached_sizes), make_layout_);
  while (!scanner.at_end() && scanner.next() != to.key && scanner.next().position <= to.key.position) {
    if (!scanner.step()) return false;
  }
  const PrefixSums& now = scanner.totals();
  return !scanner.at_end() && scanner.next() == to.key && now.chunks == to.before.chunks &&
         now.records == to.before.records && now.bytes == to.before.bytes && now.rows == to.before.rows;
}

// Returns whether all intervals with damage give the same sums. Recovery from damage may depend on where the file ends.
bool Catalog::has_same_damage(const CatalogSnapshot& snapshot) const {
  const std::vector<Anchor>& anchors = snapshot.anchors;
  const Anchor* seen = nullptr;
  for (const DamageRow& row : snapshot.damage) {
    const auto next = std::ranges::upper_bound(anchors, row.region.begin, {},
                                               [](const Anchor& anchor) { return anchor.key.position; });
    if (&*next == seen) continue;
    seen = &*next;
    const Anchor from = next == anchors.begin() ? Anchor{container_.traits().first, {}} : *(next - 1);
    auto cached_sizes = cached_sizes_between(snapshot.cached_sizes, from.before.chunks, next->before.chunks);
    if (!leads_to(from, *next, std::move(cached_sizes))) return false;
  }
  return true;
}

// Removes what may differ in the longer file: the interval after the last anchor, and anchors inside damage. All
// remaining damage is before an anchor. Returns false if nothing remains.
bool Catalog::cut_back(CatalogSnapshot& snapshot) const {
  if (!container_.traits().is_in_file_order) return false;
  std::vector<DamageRow>& damage = snapshot.damage;
  while (!snapshot.anchors.empty()) {
    const Position end = snapshot.anchors.back().key.position;
    const bool is_crossed = std::ranges::any_of(
        damage, [end](const DamageRow& row) { return row.region.begin < end && row.region.end > end; });
    if (!is_crossed) break;
    snapshot.anchors.pop_back();
  }
  if (snapshot.anchors.empty()) return false;
  const Position end = snapshot.anchors.back().key.position;
  std::erase_if(damage, [end](const DamageRow& row) { return row.region.begin >= end; });
  return has_same_damage(snapshot);
}

// Returns results that need no full scan; nullopt also if there is no memory for them.
std::optional<SavedIndex::Loaded> Catalog::read_known() {
  try {
    if (auto shorter = std::exchange(shorter_, std::nullopt)) {
      if (!cut_back(*shorter)) return std::nullopt;
      return SavedIndex::Loaded{std::move(*shorter), true};
    }
    if (saved_) return read_saved();
  } catch (const std::bad_alloc&) {
    // Scans instead, which needs less memory.
  }
  return std::nullopt;
}

// Takes over known results. Tried only once.
void Catalog::restore(std::unique_lock<std::mutex>& lock) {
  if (std::exchange(asked_known_, true)) return;
  lock.unlock();
  auto found = read_known();
  lock.lock();
  if (!found) return;
  CatalogSnapshot& snapshot = found->snapshot;
  is_restored_ = saved_ != nullptr;
  has_tail_ = false;
  stride_ = snapshot.stride;
  anchors_ = std::move(snapshot.anchors);
  sizes_known_ = snapshot.sizes_known;
  totals_ = snapshot.totals;
  cached_sizes_ = std::move(snapshot.cached_sizes);
  *damage_ = std::move(snapshot.damage);
  if (found->has_grown) {
    reported_rows_ = damage_->size();
    // The interval after the last anchor may differ now.
    resume_at_ = anchors_.back().key;
    totals_ = anchors_.back().before;
    anchors_.pop_back();
    cached_sizes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(cached_sizes_.size(), totals_.chunks)));
  } else {
    complete_ = true;
  }
}

void Catalog::save(std::unique_lock<std::mutex> lock) {
  if (!saved_ || is_invalid_) return;
  const RequestContext to_the_end(RequestContext::Work::kAny);  // even while the store is being destroyed
  try {
    const CatalogSnapshot found = all_found();
    lock.unlock();
    saved_->write(found, scan_time_);
  } catch (const std::bad_alloc&) {
    // The next mount scans again.
  }
}

std::optional<CatalogSnapshot> Catalog::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!complete_ || is_invalid_) return std::nullopt;
  return all_found();
}

// Records the results of a step. If it throws std::bad_alloc, nothing was changed: it reserves all memory first.
void Catalog::note(const Scanner& scanner, ChunkKey key) {
  std::vector<DamageRow> damage = scanner.damage();
  make_room(*damage_, damage.size());
  std::string too_many;
  if (damage_->size() + damage.size() > bounds_.damage_rows) too_many = kTooManyRegions;
  const auto& indexed = scanner.chunk();
  const bool begins_interval = indexed && indexed->before.chunks % stride_ == 0;
  IndexedChunks next_tail;
  make_room(begins_interval ? next_tail : tail_, 1);
  if (begins_interval) make_room(anchors_, 1);
  const bool is_measured =
      indexed && scanner.measured() != CachedSizes{} && indexed->before.chunks < bounds_.cached_sizes;
  if (is_measured)
    make_room(cached_sizes_, static_cast<std::size_t>(indexed->before.chunks + 1 - cached_sizes_.size()));

  for (DamageRow& row : damage) note_damage(std::move(row), too_many);
  if (indexed) {
    if (begins_interval) add_anchor(key, indexed->before, std::move(next_tail));
    tail_.push_back(*indexed);
    if (is_measured) remember(indexed->before.chunks, scanner.measured());
    sizes_known_ = sizes_known_ && indexed->chunk.decoded_size.has_value();
  }
  totals_ = scanner.totals();
}

// REQUIRES: memory is reserved.
void Catalog::remember(std::uint64_t chunk, const CachedSizes& sizes) {
  cached_sizes_.resize(static_cast<std::size_t>(chunk) + 1);
  cached_sizes_.back() = sizes;
}

// Takes `too_many` if the table is full. REQUIRES: memory is reserved.
void Catalog::note_damage(DamageRow row, std::string& too_many) {
  if (!damage_->empty()) {
    DamagedRegion& last = damage_->back().region;
    if (join_regions(last, row.region, damage_->back().first_ordinal != row.first_ordinal)) return;
    if (damage_->size() >= bounds_.damage_rows) {
      last.end = std::max(last.end, row.region.end);
      last.records_lost.reset();
      if (last.reason != kTooManyRegions) last.reason = std::exchange(too_many, {});
      return;
    }
  }
  damage_->push_back(std::move(row));
}

// Caches the interval that ends here, because it is likely to be read soon. Skipped if there is no memory.
void Catalog::keep_tail(const PrefixSums& until) {
  try {
    auto interval = std::make_shared<const Interval>(Interval{std::exchange(tail_, {})});
    static_cast<void>(
        intervals_.get(interval_key(anchors_.back().before, until), [&] { return interval; }).has_value());
  } catch (const std::bad_alloc&) {
    return;
  }
}

// `next_tail` is empty, with reserved memory. REQUIRES: memory is reserved.
void Catalog::add_anchor(ChunkKey key, const PrefixSums& before, IndexedChunks next_tail) {
  if (!anchors_.empty() && has_tail_) keep_tail(before);
  tail_ = std::move(next_tail);
  if (anchors_.size() >= bounds_.anchors) {
    // Drops every other anchor. Their number is even, so this chunk is at a multiple of the new stride.
    std::size_t left_anchors = 0;
    for (std::size_t i = 0; i < anchors_.size(); i += 2) anchors_[left_anchors++] = anchors_[i];
    anchors_.resize(left_anchors);
    stride_ *= 2;
  }
  anchors_.push_back({key, before});
  has_tail_ = true;
}

Result<Catalog::CachedIntervals::Pointer> Catalog::scan_interval(const Anchor& from, const PrefixSums& until,
                                                                 std::vector<CachedSizes> cached_sizes) const {
  const Error changed{Code::kChanged, from.key.position, "the file's chunks have changed"};
  auto interval = std::make_shared<Interval>();
  IndexedChunks& chunks = interval->chunks;
  chunks.reserve(static_cast<std::size_t>(std::min(until.chunks - from.before.chunks, bounds_.chunks_per_anchor)));
  const ReadWindow window(source_);
  Scanner scanner(container_, source_.size(), detail_, from.key, from.before, std::move(cached_sizes), make_layout_);
  while (scanner.totals().chunks < until.chunks) {
    if (scanner.at_end()) return changed;
    TRY(scanner.step());
    if (scanner.chunk()) chunks.push_back(*scanner.chunk());
  }
  const PrefixSums& now = scanner.totals();
  if (now.records != until.records || now.bytes != until.bytes || now.rows != until.rows) return changed;
  return CachedIntervals::Pointer(std::move(interval));
}

Result<IndexedChunk> Catalog::search(const IndexedChunks& chunks, SearchKey search_key, std::uint64_t value) {
  // The last chunk that begins at or before `value`, which skips chunks that add nothing.
  const auto after = std::ranges::upper_bound(
      chunks, value, {}, [&](const IndexedChunk& indexed) { return indexed.before.at(search_key); });
  if (after == chunks.begin()) return Error{.code = Code::kNotFound, .detail = "no such chunk"};
  const IndexedChunk& indexed = *(after - 1);
  if (search_key == SearchKey::kPosition && (value < indexed.chunk.begin || value >= indexed.chunk.end)) {
    return Error{Code::kNotFound, value, "no chunk covers this byte"};
  }
  if (search_key != SearchKey::kPosition && value >= indexed.after().at(search_key)) {
    return Error{.code = Code::kNotFound, .detail = "no such chunk"};
  }
  return indexed;
}

bool Catalog::reached(SearchKey search_key, std::uint64_t value) const {
  return complete_ || totals_.at(search_key) > value;
}

Error Catalog::pending(SearchKey search_key, std::uint64_t value) {
  if (failure_ && !running_) return *std::exchange(failure_, std::nullopt);  // once; the scan can then continue
  return recordfs::pending("not scanned yet", {.waitable = this, .search_key = search_key, .value = value});
}

Result<IndexedChunk> Catalog::find(SearchKey search_key, std::uint64_t value) {
  std::unique_lock lock(mutex_);
  if (!reached(search_key, value)) return pending(search_key, value);
  const auto after =
      std::ranges::upper_bound(anchors_, value, {}, [&](const Anchor& anchor) { return anchor.before.at(search_key); });
  if (after == anchors_.begin()) return Error{.code = Code::kNotFound, .detail = "no such chunk"};
  const Anchor from = *(after - 1);
  const bool is_tail = after == anchors_.end();
  if (is_tail && has_tail_) return search(tail_, search_key, value);
  const PrefixSums until = is_tail ? totals_ : after->before;
  const CacheKey key = interval_key(from.before, until);
  if (const auto kept = intervals_.peek(key); kept && *kept) return search((**kept)->chunks, search_key, value);
  auto cached_sizes = cached_sizes_between(cached_sizes_, from.before.chunks, until.chunks);
  lock.unlock();
  auto interval = intervals_.get(key, [&] { return scan_interval(from, until, std::move(cached_sizes)); });
  if (interval) return search((*interval)->chunks, search_key, value);
  if (interval.error().code == Code::kChanged) invalidate();
  return std::move(interval).error();
}

void Catalog::invalidate() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_invalid_, true) || !is_restored_) return;
  }
  saved_->remove();
}

Result<PrefixSums> Catalog::totals() {
  const std::lock_guard lock(mutex_);
  if (!complete_) return pending(SearchKey::kChunks, kEverything);
  return totals_;
}

Result<std::shared_ptr<const std::vector<DamageRow>>> Catalog::damage() {
  const std::lock_guard lock(mutex_);
  if (!complete_) return pending(SearchKey::kChunks, kEverything);
  return std::shared_ptr<const std::vector<DamageRow>>(damage_);
}

Catalog::ScanState Catalog::state() const {
  const std::lock_guard lock(mutex_);
  return {totals_, complete_, running_, sizes_known_};
}

}  // namespace recordfs
