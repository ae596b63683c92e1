#include "core/store/catalog.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/caller.h"
#include "core/base/read_window.h"
#include "core/base/sequential_pass.h"

namespace recordfs {
namespace {

constexpr std::string_view kTooManyRegions = "this region and all damage behind it: there are too many regions to list";

// For `more` elements, whose appending throws nothing then.
template <class Element>
void make_room(std::vector<Element>& vector, std::size_t more) {
  if (vector.capacity() - vector.size() >= more) return;
  vector.reserve(std::max(vector.size() + more, 2 * vector.capacity()));
}

// What was learnt of the chunks [begin, end).
std::vector<Learnt> learnt_between(const std::vector<Learnt>& all, std::uint64_t begin, std::uint64_t end) {
  const auto at = [&all](std::uint64_t chunk) {
    return all.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(chunk, all.size()));
  };
  return {at(begin), at(end)};
}

}  // namespace

Catalog::Catalog(const Container& container, const Source& source, Depth depth, Bounds bounds, OnDamage on_damage,
                 std::unique_ptr<SavedIndex> saved, MakeLayout make_layout, OnWalked on_walked,
                 std::optional<CatalogSnapshot> shorter, bool reads_whole)
    : container_(container),
      source_(source),
      depth_(depth),
      bounds_(bounds),
      reads_whole_(reads_whole),
      on_damage_(std::move(on_damage)),
      make_layout_(std::move(make_layout)),
      on_walked_(std::move(on_walked)),
      saved_(std::move(saved)),
      shorter_(std::move(shorter)),
      kept_(bounds.kept_places * sizeof(Place)),
      resume_at_(container.first()),
      stride_(bounds.chunks_per_anchor) {
  assert(bounds.anchors % 2 == 0);
}

Catalog::~Catalog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  gave_up_ = true;
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
      // The only way in which std::thread says that the system is short of threads.
      running_ = false;
      fail(shortage("no threads"));
    } catch (const std::bad_alloc&) {
      running_ = false;
      fail(shortage("no memory"));
    }
  }
  if (finished.joinable()) finished.join();
}

// Nobody behind it would catch what the standard library throws.
void Catalog::run() {
  const Caller caller(Caller::Work::kAny, &gave_up_);
  std::optional<SequentialPass> whole;
  if (reads_whole_ && container_.is_in_file_order()) whole.emplace(source_);
  SequentialPass* const pass = whole ? &*whole : nullptr;
  const ReadWindow window(source_, pass);
  std::unique_lock lock(mutex_);
  restore(lock);
  const bool is_known = complete_;
  try {
    if (!is_known) take_walk(lock, pass);
  } catch (const std::bad_alloc&) {
    if (!lock.owns_lock()) lock.lock();
    fail(shortage("no memory"));
  }
  running_ = false;
  announce(lock);
  if (!complete_ || is_known) return;
  tell_walked(lock);
  save(std::move(lock));
}

// Nobody is told later of what was in nobody's way: the walk is tried again then.
void Catalog::fail(Error error) {
  if (std::ranges::all_of(waiters_, [](const Waiters& waiters) { return waiters.empty(); })) return;
  failure_ = std::move(error);
}

void Catalog::tell_walked(std::unique_lock<std::mutex>& lock) const {
  if (!on_walked_) return;
  const Totals totals = totals_;
  const auto walked = walked_;
  lock.unlock();
  try {
    on_walked_(totals, walked);
  } catch (const std::bad_alloc&) {
    // A line of the log.
  }
  lock.lock();
}

// What is thrown leaves the walk where it was.
void Catalog::take_walk(std::unique_lock<std::mutex>& lock, SequentialPass* pass) {
  const auto begin = std::chrono::steady_clock::now();
  Walk walk(container_, source_.size(), depth_, resume_at_, totals_, {}, make_layout_);
  while (!walk.at_end() && !stopping_) {
    const ChunkKey key = walk.next();
    lock.unlock();
    if (pass != nullptr) pass->advance(key.position);
    auto stepped = walk.step();
    lock.lock();
    resume_at_ = key;
    if (!stepped) {
      fail(std::move(stepped).error());
      break;
    }
    note(walk, key);
    announce(lock);
  }
  complete_ = walk.at_end();
  walked_ += std::chrono::steady_clock::now() - begin;
}

// Whether the walk over a file that has grown would come by the last anchor as the earlier walk did.
bool Catalog::may_go_on_from(const CatalogSnapshot& snapshot) const {
  const std::vector<Anchor>& anchors = snapshot.anchors;
  if (anchors.size() < 2 || !container_.is_in_file_order()) return false;
  // How damage was passed may have depended on where the file ended.
  const Anchor& last = anchors.back();
  const bool is_sound =
      std::ranges::all_of(snapshot.damage, [&](const DamageRow& row) { return row.region.begin >= last.key.position; });
  if (!is_sound) return false;
  const Anchor& from = anchors[anchors.size() - 2];
  auto learnt = learnt_between(snapshot.learnt, from.before.chunks, last.before.chunks);
  return walk_stretch(from, last.before, std::move(learnt)).has_value();
}

std::optional<SavedIndex::Found> Catalog::read_saved() const {
  auto found = saved_->read();
  if (!found || !found->has_grown) return found;
  if (!may_go_on_from(found->snapshot)) return std::nullopt;
  found->snapshot.damage.clear();
  return found;
}

// Whether a walk from one place comes to the other, with what stood before it then.
bool Catalog::leads_to(const Anchor& from, const Anchor& to, std::vector<Learnt> learnt) const {
  const ReadWindow window(source_);
  Walk walk(container_, source_.size(), depth_, from.key, from.before, std::move(learnt), make_layout_);
  while (!walk.at_end() && walk.next() != to.key && walk.next().position <= to.key.position) {
    if (!walk.step()) return false;
  }
  const Totals& now = walk.totals();
  return !walk.at_end() && walk.next() == to.key && now.chunks == to.before.chunks &&
         now.records == to.before.records && now.bytes == to.before.bytes && now.rows == to.before.rows;
}

// Whether the stretches with damage look as they did. How damage is passed may depend on where the file ends.
bool Catalog::has_same_damage(const CatalogSnapshot& snapshot) const {
  const std::vector<Anchor>& anchors = snapshot.anchors;
  const Anchor* seen = nullptr;
  for (const DamageRow& row : snapshot.damage) {
    const auto next = std::ranges::upper_bound(anchors, row.region.begin, {},
                                               [](const Anchor& anchor) { return anchor.key.position; });
    if (&*next == seen) continue;
    seen = &*next;
    const Anchor from = next == anchors.begin() ? Anchor{container_.first(), {}} : *(next - 1);
    auto learnt = learnt_between(snapshot.learnt, from.before.chunks, next->before.chunks);
    if (!leads_to(from, *next, std::move(learnt))) return false;
  }
  return true;
}

// Takes from what was found in the file when it was shorter all that may look different now: the stretch behind the
// last anchor, and damage that reaches over one. False: nothing is left. What stays of the damage stands before an
// anchor.
bool Catalog::cut_back(CatalogSnapshot& snapshot) const {
  if (!container_.is_in_file_order()) return false;
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

// What is known without a walk; nullopt also where there is no memory for it.
std::optional<SavedIndex::Found> Catalog::read_known() {
  try {
    if (auto shorter = std::exchange(shorter_, std::nullopt)) {
      if (!cut_back(*shorter)) return std::nullopt;
      return SavedIndex::Found{std::move(*shorter), true};
    }
    if (saved_) return read_saved();
  } catch (const std::bad_alloc&) {
    // Then the walk is taken, which needs less.
  }
  return std::nullopt;
}

// Takes over what is known already, if this was not tried before.
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
  learnt_ = std::move(snapshot.learnt);
  *damage_ = std::move(snapshot.damage);
  if (found->has_grown) {
    told_ = damage_->size();
    // What stands behind the last anchor may look different now.
    resume_at_ = anchors_.back().key;
    totals_ = anchors_.back().before;
    anchors_.pop_back();
    learnt_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(learnt_.size(), totals_.chunks)));
  } else {
    complete_ = true;
  }
}

void Catalog::save(std::unique_lock<std::mutex> lock) {
  if (!saved_ || is_refuted_) return;
  const Caller to_the_end(Caller::Work::kAny);  // also when the store goes meanwhile
  try {
    const CatalogSnapshot found = all_found();
    lock.unlock();
    saved_->write(found, walked_);
  } catch (const std::bad_alloc&) {
    // The next mount walks again.
  }
}

std::optional<CatalogSnapshot> Catalog::snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!complete_ || is_refuted_) return std::nullopt;
  return all_found();
}

// All of what a step has brought, or nothing and std::bad_alloc: what takes memory comes first.
void Catalog::note(const Walk& walk, ChunkKey key) {
  std::vector<DamageRow> damage = walk.damage();
  make_room(*damage_, damage.size());
  std::string too_many;
  if (damage_->size() + damage.size() > bounds_.damage_rows) too_many = kTooManyRegions;
  const auto& place = walk.chunk();
  const bool begins_stretch = place && place->before.chunks % stride_ == 0;
  Places next_tail;
  make_room(begins_stretch ? next_tail : tail_, 1);
  if (begins_stretch) make_room(anchors_, 1);
  const bool is_learnt = place && walk.learnt() != Learnt{} && place->before.chunks < bounds_.learnt_chunks;
  if (is_learnt) make_room(learnt_, static_cast<std::size_t>(place->before.chunks + 1 - learnt_.size()));

  for (DamageRow& row : damage) note_damage(std::move(row), too_many);
  if (place) {
    if (begins_stretch) add_anchor(key, place->before, std::move(next_tail));
    tail_.push_back(*place);
    if (is_learnt) remember(place->before.chunks, walk.learnt());
    sizes_known_ = sizes_known_ && place->chunk.decoded_size.has_value();
  }
  totals_ = walk.totals();
}

// REQUIRES: there is room.
void Catalog::remember(std::uint64_t chunk, const Learnt& learnt) {
  learnt_.resize(static_cast<std::size_t>(chunk) + 1);
  learnt_.back() = learnt;
}

// `too_many` is taken where the row finds no place. REQUIRES: there is room.
void Catalog::note_damage(DamageRow row, std::string& too_many) {
  if (!damage_->empty()) {
    DamagedRegion& last = damage_->back().region;
    const bool same = last.end == row.region.begin && last.damage_class == row.region.damage_class &&
                      last.reason == row.region.reason && damage_->back().first_ordinal == row.first_ordinal;
    if (same) {
      last.end = row.region.end;
      if (last.records_lost && row.region.records_lost) {
        *last.records_lost += *row.region.records_lost;
      } else {
        last.records_lost.reset();
      }
      return;
    }
    if (damage_->size() >= bounds_.damage_rows) {
      last.end = std::max(last.end, row.region.end);
      last.records_lost.reset();
      if (last.reason != kTooManyRegions) last.reason = std::exchange(too_many, {});
      return;
    }
  }
  damage_->push_back(std::move(row));
}

// Keeps the stretch that ends now for those who soon ask for it; without memory they walk through it.
void Catalog::keep_tail(const Totals& until) {
  try {
    auto stretch = std::make_shared<const Stretch>(Stretch{std::exchange(tail_, {})});
    static_cast<void>(kept_.get(stretch_key(anchors_.back().before, until), [&] { return stretch; }).has_value());
  } catch (const std::bad_alloc&) {
    return;
  }
}

// `next_tail` is empty, and takes the stretch that begins here. REQUIRES: there is room.
void Catalog::add_anchor(ChunkKey key, const Totals& before, Places next_tail) {
  if (!anchors_.empty() && has_tail_) keep_tail(before);
  tail_ = std::move(next_tail);
  if (anchors_.size() >= bounds_.anchors) {
    // Every other anchor goes. Their number is even, so this chunk is one that the wider stride keeps.
    std::size_t kept_anchors = 0;
    for (std::size_t i = 0; i < anchors_.size(); i += 2) anchors_[kept_anchors++] = anchors_[i];
    anchors_.resize(kept_anchors);
    stride_ *= 2;
  }
  anchors_.push_back({key, before});
  has_tail_ = true;
}

Result<Catalog::KeptStretches::Pointer> Catalog::walk_stretch(const Anchor& from, const Totals& until,
                                                              std::vector<Learnt> learnt) const {
  const Error changed{Code::kChanged, from.key.position, "the file no longer has the chunks that it had"};
  auto stretch = std::make_shared<Stretch>();
  Places& places = stretch->places;
  places.reserve(static_cast<std::size_t>(std::min(until.chunks - from.before.chunks, bounds_.chunks_per_anchor)));
  const ReadWindow window(source_);
  Walk walk(container_, source_.size(), depth_, from.key, from.before, std::move(learnt), make_layout_);
  while (walk.totals().chunks < until.chunks) {
    if (walk.at_end()) return changed;
    if (auto stepped = walk.step(); !stepped) return std::move(stepped).error();
    if (walk.chunk()) places.push_back(*walk.chunk());
  }
  const Totals& now = walk.totals();
  if (now.records != until.records || now.bytes != until.bytes || now.rows != until.rows) return changed;
  return KeptStretches::Pointer(std::move(stretch));
}

Result<Place> Catalog::search(const Places& places, Coordinate coordinate, std::uint64_t value) {
  // The last chunk that begins at or before `value`: chunks that add nothing are passed by.
  const auto behind =
      std::ranges::upper_bound(places, value, {}, [&](const Place& place) { return place.before.at(coordinate); });
  if (behind == places.begin()) return Error{.code = Code::kNotFound, .detail = "no chunk there"};
  const Place& place = *(behind - 1);
  if (coordinate == Coordinate::kPosition && (value < place.chunk.begin || value >= place.chunk.end)) {
    return Error{Code::kNotFound, value, "no chunk covers this byte"};
  }
  if (coordinate != Coordinate::kPosition && value >= place.after().at(coordinate)) {
    return Error{.code = Code::kNotFound, .detail = "no chunk there"};
  }
  return place;
}

bool Catalog::reached(Coordinate coordinate, std::uint64_t value) const {
  return complete_ || totals_.at(coordinate) > value;
}

Error Catalog::pending(Coordinate coordinate, std::uint64_t value, Goal& goal) {
  if (failure_ && !running_) return *std::exchange(failure_, std::nullopt);  // said once; then the walk may go on
  goal = {.awaited = this, .coordinate = coordinate, .value = value};
  return {.code = Code::kPending, .detail = "the catalog has not come so far yet"};
}

Result<Place> Catalog::find(Coordinate coordinate, std::uint64_t value, Goal& goal) {
  std::unique_lock lock(mutex_);
  if (!reached(coordinate, value)) return pending(coordinate, value, goal);
  const auto behind =
      std::ranges::upper_bound(anchors_, value, {}, [&](const Anchor& anchor) { return anchor.before.at(coordinate); });
  if (behind == anchors_.begin()) return Error{.code = Code::kNotFound, .detail = "no chunk there"};
  const Anchor from = *(behind - 1);
  const bool is_tail = behind == anchors_.end();
  if (is_tail && has_tail_) return search(tail_, coordinate, value);
  const Totals until = is_tail ? totals_ : behind->before;
  const CacheKey key = stretch_key(from.before, until);
  if (const auto kept = kept_.peek(key); kept && *kept) return search((**kept)->places, coordinate, value);
  auto learnt = learnt_between(learnt_, from.before.chunks, until.chunks);
  lock.unlock();
  auto stretch = kept_.get(key, [&] { return walk_stretch(from, until, std::move(learnt)); });
  if (stretch) return search((*stretch)->places, coordinate, value);
  if (stretch.error().code == Code::kChanged) refute();
  return std::move(stretch).error();
}

void Catalog::refute() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_refuted_, true) || !is_restored_) return;
  }
  saved_->remove();
}

Result<Totals> Catalog::totals(Goal& goal) {
  const std::lock_guard lock(mutex_);
  if (!complete_) return pending(Coordinate::kChunks, kEverything, goal);
  return totals_;
}

Result<std::shared_ptr<const std::vector<DamageRow>>> Catalog::damage(Goal& goal) {
  const std::lock_guard lock(mutex_);
  if (!complete_) return pending(Coordinate::kChunks, kEverything, goal);
  return std::shared_ptr<const std::vector<DamageRow>>(damage_);
}

Catalog::State Catalog::state() const {
  const std::lock_guard lock(mutex_);
  return {totals_, complete_, running_, sizes_known_};
}

}  // namespace recordfs
