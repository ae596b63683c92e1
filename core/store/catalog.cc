#include "core/store/catalog.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/prefetch_buffer.h"
#include "core/base/read_window.h"
#include "core/base/request_context.h"
#include "core/store/header_prediction.h"

namespace recordfs {
namespace {

// Returns whether the sums are equal, apart from the position.
bool are_same(const PrefixSums& a, const PrefixSums& b) {
  return a.chunks == b.chunks && a.records == b.records && a.bytes == b.bytes && a.rows == b.rows;
}

bool is_inside(const IntervalPlace& part, const IntervalPlace& whole) {
  return part.from.before.chunks >= whole.from.before.chunks && part.until.chunks <= whole.until.chunks;
}

}  // namespace

Catalog::Catalog(const Container& container, const Source& source, ScanDetail detail, Bounds bounds, OnDamage on_damage,
                 std::unique_ptr<SavedIndex> saved, MakeLayout make_layout, OnScanned on_scanned,
                 std::optional<CatalogSnapshot> shorter, bool reads_whole)
    : container_(container),
      source_(source),
      reads_whole_(reads_whole && !source.is_remote()),  // which reads ahead by itself
      on_damage_(std::move(on_damage)),
      make_layout_(std::move(make_layout)),
      detail_(detail),
      chunks_per_anchor_(bounds.chunks_per_anchor),
      remote_(bounds.remote),
      reports_ahead_(bounds.reports_ahead),
      on_scanned_(std::move(on_scanned)),
      saved_(std::move(saved)),
      shorter_(std::move(shorter)),
      intervals_(bounds.cached_chunks * sizeof(IndexedChunk)),
      next_(container.traits().first),
      results_(bounds) {
  assert(bounds.anchors % 2 == 0);
}

Result<void> Catalog::work(const RequestContext& outer, Lock& lock) {
  lock.unlock();
  std::optional<PrefetchBuffer> whole;
  if (reads_whole_ && container_.traits().is_in_file_order) whole.emplace(source_);
  PrefetchBuffer* const pass = whole ? &*whole : nullptr;
  ReadWindow window(outer, source_, pass, ReadWindow::After::kKept);
  const RequestContext context = outer.with(window);
  lock.lock();
  restore(context, lock);
  Result<void> scanned;
  if (complete_) {
    report_final_damage(lock);
  } else {
    scanned = scan(context, lock, pass);
    if (complete_) finish(lock);
  }
  if (lock.owns_lock()) lock.unlock();  // the end of `whole` may block
  return scanned;
}

// If it fails or throws, the scan can continue from the same step.
Result<void> Catalog::scan(const RequestContext& context, Lock& lock, PrefetchBuffer* pass) {
  const auto begin = std::chrono::steady_clock::now();
  Scanner scanner(container_, source_.size(), detail_, next_, results_.totals(), {}, make_layout_);
  scanner.name_unreadable(source_);
  HeaderPrediction prediction(container_, source_);
  Result<void> stepped;
  const std::uint64_t requested_before = source_.requested_bytes() - requested_;
  // If it is remote, each byte costs something.
  const auto is_wanted = [&] { return has_waiters() || !source_.is_remote() || reads_whole_; };
  while (!complete_ && !stopping_ && is_wanted()) {
    stepped = check_requested();
    if (!stepped) break;
    lock.unlock();
    if (pass != nullptr) pass->advance(scanner.next().position);
    prediction.note(scanner.next().position);
    stepped = scanner.step(context);
    lock.lock();
    requested_ = source_.requested_bytes() - requested_before;
    if (!stepped) break;
    auto ended = results_.add(scanner, next_);
    complete_ = scanner.at_end();
    if (!complete_) next_ = scanner.next();
    if (ended) keep(context, std::move(*ended));
    report_final_damage(lock);
    resume_waiters(lock);
  }
  scan_time_ += std::chrono::steady_clock::now() - begin;
  return stepped;
}

Result<void> Catalog::check_requested() const {
  if (remote_.most == UINT64_MAX || !source_.is_remote()) return {};
  // Before, an estimate would not be better than a guess.
  constexpr std::uint64_t kEnough = 1u << 20;
  const PrefixSums& done = results_.totals();
  const auto estimate = [this](std::uint64_t part, std::uint64_t whole) {
    const double times = static_cast<double>(whole) / static_cast<double>(std::max<std::uint64_t>(part, 1));
    return static_cast<std::uint64_t>(std::min(static_cast<double>(requested_) * times, 1e18));
  };
  std::uint64_t least = requested_;
  if (requested_ >= kEnough) {
    // The least that anything which waits needs; 0: nothing of this kind waits.
    // Bytes that were requested ahead may count twice.
    const std::uint64_t all = std::min(estimate(done.position, source_.size()), source_.size());
    std::uint64_t needed = all;
    for (const SearchKey key : {SearchKey::kChunks, SearchKey::kRecords, SearchKey::kPosition}) {
      if (const auto value = least_awaited(key)) needed = std::min(needed, estimate(done.at(key), *value));
    }
    least = std::max(least, needed);
  }
  if (least <= remote_.most) return {};
  return Error{.code = Code::kIo,
               .detail = fmt::format("a scan of the headers would request about {} MB of the remote file{}",
                                     (least + 999'999) / 1'000'000, remote_.advice),
               .os_error = EFBIG};
}

std::optional<SavedIndex::Loaded> Catalog::read_saved(const RequestContext& context) const {
  auto found = saved_->read(context);
  if (!found || !found->has_grown) return found;
  if (!can_continue_from(context, found->snapshot)) return std::nullopt;
  found->snapshot.damage.clear();
  return found;
}

// Returns results that need no full scan.
std::optional<SavedIndex::Loaded> Catalog::read_known(const RequestContext& context) {
  if (auto shorter = std::exchange(shorter_, std::nullopt)) {
    if (!cut_back(context, *shorter)) return std::nullopt;
    return SavedIndex::Loaded{std::move(*shorter), true};
  }
  return saved_ ? read_saved(context) : std::nullopt;
}

// Takes over known results. Tried only once.
void Catalog::restore(const RequestContext& context, Lock& lock) {
  if (std::exchange(asked_known_, true)) return;
  lock.unlock();
  auto found = read_known(context);
  lock.lock();
  if (!found) return;
  is_restored_ = saved_ != nullptr;
  if (const auto from = results_.take(std::move(found->snapshot), found->has_grown)) {
    reported_rows_ = results_.damage()->size();
    next_ = *from;
  } else {
    complete_ = true;
  }
}

// Logs and saves the results of a complete scan. Unlocks.
void Catalog::finish(Lock& lock) {
  const PrefixSums totals = results_.totals();
  std::optional<CatalogSnapshot> found;
  if (saved_ && !is_invalid_ && !source_.unreadable_in(0, source_.size())) found = results_.snapshot();
  lock.unlock();
  if (on_scanned_) on_scanned_(totals, scan_time_);
  if (found) saved_->write({}, *found, scan_time_);  // even while the store is being destroyed
}

std::optional<CatalogSnapshot> Catalog::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!complete_ || is_invalid_) return std::nullopt;
  return results_.snapshot();
}

// Caches an interval.
void Catalog::keep(const RequestContext& context, ScanResults::Ended ended) {
  auto interval = std::make_shared<const Interval>(Interval{std::move(ended.chunks)});
  static_cast<void>(intervals_.get(context, key_of(ended.place), [&] { return interval; }).has_value());
}

bool Catalog::has_reached(SearchKey search_key, std::uint64_t value) const {
  return complete_ || results_.totals().at(search_key) > value;
}

Result<IndexedChunk> Catalog::find(const RequestContext& context, SearchKey search_key, std::uint64_t value) {
  std::unique_lock lock(mutex_);
  want(search_key, value, lock);
  if (!has_reached(search_key, value)) return failure_or_pending(search_key, value);
  auto place = results_.interval(search_key, value);
  if (!place) return Error{.code = Code::kNotFound, .detail = "no such chunk"};
  if (const IndexedChunks* const tail = results_.tail(place->from)) return search(*tail, search_key, value);
  const auto kept = intervals_.peek(key_of(*place));
  if (kept && *kept) return search((**kept)->chunks, search_key, value);
  const auto part = results_.part_of_interval(search_key, value);
  if (part && is_inside(*part, *place)) place = part;
  const CacheKey key = key_of(*place);
  auto cached_sizes = results_.cached_sizes(*place);
  lock.unlock();
  auto interval = intervals_.get(
      context, key, [&] { return scan_interval(context, place->from, place->until, std::move(cached_sizes)); });
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
  std::unique_lock lock(mutex_);
  want(SearchKey::kChunks, kEverything, lock);
  if (!complete_) return failure_or_pending(SearchKey::kChunks, kEverything);
  return results_.totals();
}

Result<std::shared_ptr<const std::vector<DamageRow>>> Catalog::damage() {
  std::unique_lock lock(mutex_);
  want(SearchKey::kChunks, kEverything, lock);
  if (!complete_) return failure_or_pending(SearchKey::kChunks, kEverything);
  return std::shared_ptr<const std::vector<DamageRow>>(results_.damage());
}

Result<Catalog::Counted> Catalog::counted() {
  const std::lock_guard lock(mutex_);
  if (!complete_) return failure_or_pending(SearchKey::kChunks, kEverything);
  const auto is_damage = [](const DamageRow& row) { return row.region.damage_class != DamageClass::kStale; };
  return Counted{.totals = results_.totals(),
                 .damaged_regions = static_cast<std::uint64_t>(std::ranges::count_if(*results_.damage(), is_damage))};
}

Catalog::ScanState Catalog::state() const {
  const std::lock_guard lock(mutex_);
  return {results_.totals(), complete_, running_ && !complete_, results_.sizes_known()};
}

// Reports the damage before the requested place, unless all is reported anyway. Unlocks meanwhile.
void Catalog::want(SearchKey search_key, std::uint64_t value, Lock& lock) {
  if (reports_ahead_) return;
  if (search_key == SearchKey::kRecords) {
    wanted_records_ = std::max(wanted_records_, value + 1);
  } else if (search_key == SearchKey::kPosition) {
    wanted_position_ = std::max(wanted_position_, value);
  } else {
    wanted_records_ = kEverything;
  }
  report_final_damage(lock);
}

// Returns whether the next row can no longer grow and is wanted. REQUIRES: mutex_ is locked.
bool Catalog::can_report() const {
  const std::vector<DamageRow>& rows = *results_.damage();
  if (!on_damage_ || reported_rows_ >= rows.size()) return false;
  if (reported_rows_ + 1 == rows.size() && !complete_ && results_.last_row_may_grow()) return false;
  const DamageRow& row = rows[reported_rows_];
  return reports_ahead_ || row.first_ordinal < wanted_records_ || row.region.begin < wanted_position_;
}

// Unlocks meanwhile.
void Catalog::report_final_damage(Lock& lock) {
  if (!can_report()) return;
  lock.unlock();
  const std::lock_guard order(report_mutex_);
  lock.lock();
  while (can_report()) {
    const DamageRow row = (*results_.damage())[reported_rows_];
    ++reported_rows_;
    lock.unlock();
    on_damage_(row);
    lock.lock();
  }
}

// --- scans of parts

namespace {

// Reads an interval with a few large requests instead of many small ones, if each takes long and the headers are close
// together. Returns whether all of it is read. If that fails, the scan finds out what can be read.
bool fetch_interval(const RequestContext& context, const Source& source, const Anchor& from, const PrefixSums& until) {
  constexpr std::uint64_t kMostAtOnce = 24u << 20;
  constexpr std::uint64_t kClose = 256u << 10;
  const Position begin = from.key.position;
  if (source.filesystem() == 0 || until.position <= begin || until.position - begin > kMostAtOnce) return false;
  const std::uint64_t headers = until.records - std::min(until.records, from.before.records);
  if ((until.position - begin) / std::max<std::uint64_t>(headers, 1) > kClose) return false;
  constexpr std::uint64_t kStep = 8u << 20;
  const Position end = until.position + IntervalPlace::kReadAfter;
  for (Position at = begin; at < end; at += kStep) {
    if (!read_up_to(context, source, at, std::min(kStep, end - at))) return false;
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const Interval>> Catalog::scan_interval(const RequestContext& context, const Anchor& from,
                                                               const PrefixSums& until,
                                                               std::vector<CachedSizes> cached_sizes) const {
  const Error changed{Code::kChanged, from.key.position, "the file's chunks have changed"};
  auto found = std::make_shared<Interval>();
  IndexedChunks& chunks = found->chunks;
  chunks.reserve(static_cast<std::size_t>(std::min(until.chunks - from.before.chunks, chunks_per_anchor_)));
  ReadWindow window(context, source_);
  const bool is_fetched = fetch_interval(context, source_, from, until);
  const RequestContext reading = is_fetched ? context : context.with(window);
  Scanner scanner(container_, source_.size(), detail_, from.key, from.before, std::move(cached_sizes), make_layout_);
  scanner.name_unreadable(source_);
  while (scanner.totals().chunks < until.chunks) {
    if (scanner.at_end()) return changed;
    TRY(scanner.step(reading));
    if (scanner.chunk()) chunks.push_back(*scanner.chunk());
  }
  if (!are_same(scanner.totals(), until)) return changed;
  return std::shared_ptr<const Interval>(std::move(found));
}

bool Catalog::can_continue_from(const RequestContext& context, const CatalogSnapshot& snapshot) const {
  const std::vector<Anchor>& anchors = snapshot.anchors;
  if (anchors.size() < 2 || !container_.traits().is_in_file_order) return false;
  // Recovery from damage may have depended on where the file ended.
  const Anchor& last = anchors.back();
  const bool is_sound =
      std::ranges::all_of(snapshot.damage, [&](const DamageRow& row) { return row.region.begin >= last.key.position; });
  if (!is_sound) return false;
  return leads_to(context, snapshot, anchors[anchors.size() - 2], last);
}

// Returns whether a scan from one anchor reaches the other with the same sums.
bool Catalog::leads_to(const RequestContext& context, const CatalogSnapshot& snapshot, const Anchor& from,
                       const Anchor& to) const {
  auto cached_sizes = cached_sizes_between(snapshot.cached_sizes, from.before.chunks, to.before.chunks);
  ReadWindow window(context, source_);
  Scanner scanner(container_, source_.size(), detail_, from.key, from.before, std::move(cached_sizes), make_layout_);
  scanner.name_unreadable(source_);
  while (!scanner.at_end() && scanner.next() != to.key && scanner.next().position <= to.key.position) {
    if (!scanner.step(context.with(window))) return false;
  }
  return !scanner.at_end() && scanner.next() == to.key && are_same(scanner.totals(), to.before);
}

// Returns whether all intervals with damage give the same sums. Recovery from damage may depend on where the file ends.
bool Catalog::has_same_damage(const RequestContext& context, const CatalogSnapshot& snapshot) const {
  const std::vector<Anchor>& anchors = snapshot.anchors;
  const Anchor* seen = nullptr;
  for (const DamageRow& row : snapshot.damage) {
    const auto next = std::ranges::upper_bound(anchors, row.region.begin, {},
                                               [](const Anchor& anchor) { return anchor.key.position; });
    if (&*next == seen) continue;
    seen = &*next;
    const Anchor from = next == anchors.begin() ? Anchor{container_.traits().first, {}} : *(next - 1);
    if (!leads_to(context, snapshot, from, *next)) return false;
  }
  return true;
}

bool Catalog::cut_back(const RequestContext& context, CatalogSnapshot& snapshot) const {
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
  return has_same_damage(context, snapshot);
}

}  // namespace recordfs
