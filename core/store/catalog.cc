#include "core/store/catalog.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/read_window.h"
#include "core/base/request_context.h"
#include "core/base/sequential_pass.h"
#include "core/base/thread.h"

namespace recordfs {
Catalog::Catalog(const Container& container, const Source& source, ScanDetail detail, Bounds bounds, OnDamage on_damage,
                 std::unique_ptr<SavedIndex> saved, MakeLayout make_layout, OnScanned on_scanned,
                 std::optional<CatalogSnapshot> shorter, bool reads_whole)
    : container_(container),
      source_(source),
      reads_whole_(reads_whole),
      on_damage_(std::move(on_damage)),
      make_layout_(std::move(make_layout)),
      rescan_{container_, source_, detail, make_layout_, bounds.chunks_per_anchor},
      on_scanned_(std::move(on_scanned)),
      saved_(std::move(saved)),
      shorter_(std::move(shorter)),
      intervals_(bounds.cached_chunks * sizeof(IndexedChunk)),
      resume_at_(container.traits().first),
      results_(bounds) {
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
    failure_.reset();
    finished = std::exchange(thread_, {});
    thread_ = start_thread([this] { run(); });
    running_ = thread_.joinable();
    if (!running_) fail(shortage("no threads"));
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
  if (waiters_.empty()) return;
  failure_ = std::move(error);
}

void Catalog::report_scanned(std::unique_lock<std::mutex>& lock) const {
  if (!on_scanned_) return;
  const PrefixSums totals = results_.totals();
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
  Scanner scanner(container_, source_.size(), rescan_.detail, resume_at_, results_.totals(), {}, make_layout_);
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
    if (auto ended = results_.add(scanner, key)) keep(std::move(*ended));
    announce(lock);
  }
  complete_ = scanner.at_end();
  scan_time_ += std::chrono::steady_clock::now() - begin;
}

std::optional<SavedIndex::Loaded> Catalog::read_saved() const {
  auto found = saved_->read();
  if (!found || !found->has_grown) return found;
  if (!rescan_.can_continue_from(found->snapshot)) return std::nullopt;
  found->snapshot.damage.clear();
  return found;
}

// Returns results that need no full scan; nullopt also if there is no memory for them.
std::optional<SavedIndex::Loaded> Catalog::read_known() {
  try {
    if (auto shorter = std::exchange(shorter_, std::nullopt)) {
      if (!rescan_.cut_back(*shorter)) return std::nullopt;
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
  is_restored_ = saved_ != nullptr;
  if (const auto from = results_.take(std::move(found->snapshot), found->has_grown)) {
    reported_rows_ = results_.damage()->size();
    resume_at_ = *from;
  } else {
    complete_ = true;
  }
}

void Catalog::save(std::unique_lock<std::mutex> lock) {
  if (!saved_ || is_invalid_) return;
  const RequestContext to_the_end(RequestContext::Work::kAny);  // even while the store is being destroyed
  try {
    const CatalogSnapshot found = results_.snapshot();
    lock.unlock();
    saved_->write(found, scan_time_);
  } catch (const std::bad_alloc&) {
    // The next mount scans again.
  }
}

std::optional<CatalogSnapshot> Catalog::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!complete_ || is_invalid_) return std::nullopt;
  return results_.snapshot();
}

// Caches an interval. Skipped if there is no memory.
void Catalog::keep(ScanResults::Ended ended) {
  try {
    auto interval = std::make_shared<const Interval>(Interval{std::move(ended.chunks)});
    static_cast<void>(intervals_.get(key_of(ended.place), [&] { return interval; }).has_value());
  } catch (const std::bad_alloc&) {
    return;
  }
}

bool Catalog::reached(SearchKey search_key, std::uint64_t value) const {
  return complete_ || results_.totals().at(search_key) > value;
}

Error Catalog::pending(SearchKey search_key, std::uint64_t value) {
  if (failure_ && !running_) return *std::exchange(failure_, std::nullopt);  // once; the scan can then continue
  return recordfs::pending("not scanned yet", {.waitable = this, .search_key = search_key, .value = value});
}

Result<IndexedChunk> Catalog::find(SearchKey search_key, std::uint64_t value) {
  std::unique_lock lock(mutex_);
  if (!reached(search_key, value)) return pending(search_key, value);
  const auto place = results_.interval(search_key, value);
  if (!place) return Error{.code = Code::kNotFound, .detail = "no such chunk"};
  if (const IndexedChunks* const tail = results_.tail(place->from)) return search(*tail, search_key, value);
  const CacheKey key = key_of(*place);
  if (const auto kept = intervals_.peek(key); kept && *kept) return search((**kept)->chunks, search_key, value);
  auto cached_sizes = results_.cached_sizes(*place);
  lock.unlock();
  auto interval =
      intervals_.get(key, [&] { return rescan_.interval(place->from, place->until, std::move(cached_sizes)); });
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
  return results_.totals();
}

Result<std::shared_ptr<const std::vector<DamageRow>>> Catalog::damage() {
  const std::lock_guard lock(mutex_);
  if (!complete_) return pending(SearchKey::kChunks, kEverything);
  return std::shared_ptr<const std::vector<DamageRow>>(results_.damage());
}

Catalog::ScanState Catalog::state() const {
  const std::lock_guard lock(mutex_);
  return {results_.totals(), complete_, running_, results_.sizes_known()};
}

// --- waiting

std::uint64_t Catalog::wait(const WaitTicket& ticket, std::function<void()> resume) {
  std::uint64_t wait_id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (reached(ticket.search_key, ticket.value) || failure_ || stopping_) return 0;
    wait_id = waiters_.add(ticket.search_key, ticket.value, std::move(resume));
  }
  start();
  const std::lock_guard lock(mutex_);
  const bool stands_still = failure_ && !running_;
  return stands_still && waiters_.remove(wait_id) ? 0 : wait_id;
}

bool Catalog::cancel(std::uint64_t wait_id) {
  const std::lock_guard lock(mutex_);
  return waiters_.remove(wait_id);
}

// Excludes the last row while it may grow. If there is no memory, returns the rows next time.
std::vector<DamageRow> Catalog::take_final_damage() {
  const std::vector<DamageRow>& damage = *results_.damage();
  if (!on_damage_ || damage.empty()) return {};
  const std::size_t settled = std::max(reported_rows_, complete_ ? damage.size() : damage.size() - 1);
  try {
    std::vector<DamageRow> rows(damage.begin() + static_cast<std::ptrdiff_t>(reported_rows_),
                                damage.begin() + static_cast<std::ptrdiff_t>(settled));
    reported_rows_ = settled;
    return rows;
  } catch (const std::bad_alloc&) {
    return {};
  }
}

// Reports new damage and resumes waiting requests, without the lock.
void Catalog::announce(std::unique_lock<std::mutex>& lock) {
  const std::vector<DamageRow> rows = take_final_damage();
  ScanWaiters::Waiters ready = waiters_.take([this](SearchKey search_key, std::uint64_t value) {
    return failure_ || stopping_ || reached(search_key, value);
  });
  if (rows.empty() && ready.empty()) return;
  lock.unlock();
  report(rows);
  for (auto& [value, waiter] : ready) waiter.resume();
  ready.clear();
  lock.lock();
}

void Catalog::report(const std::vector<DamageRow>& rows) const {
  try {
    for (const DamageRow& row : rows) on_damage_(row);
  } catch (const std::bad_alloc&) {
    // Only log lines are lost.
  }
}

}  // namespace recordfs
