#include "core/store/scan_results.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace recordfs {
namespace {

constexpr std::string_view kTooManyRegions = "this and all following damage (too many regions to list)";

// Reserves memory, so that appending `more` elements does not throw.
template <class Element>
void make_room(std::vector<Element>& vector, std::size_t more) {
  if (vector.capacity() - vector.size() >= more) return;
  vector.reserve(std::max(vector.size() + more, 2 * vector.capacity()));
}

}  // namespace

std::vector<CachedSizes> cached_sizes_between(const std::vector<CachedSizes>& all, std::uint64_t begin,
                                              std::uint64_t end) {
  const auto at = [&all](std::uint64_t chunk) {
    return all.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(chunk, all.size()));
  };
  return {at(begin), at(end)};
}

Result<IndexedChunk> search(const IndexedChunks& chunks, SearchKey search_key, std::uint64_t value) {
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

bool join_regions(DamagedRegion& last, const DamagedRegion& next, bool is_apart) {
  const bool is_one =
      last.end == next.begin && last.damage_class == next.damage_class && last.reason == next.reason && !is_apart;
  if (!is_one) return false;
  last.end = next.end;
  if (last.records_lost && next.records_lost) {
    *last.records_lost += *next.records_lost;
  } else {
    last.records_lost.reset();
  }
  return true;
}

std::optional<ScanResults::Ended> ScanResults::add(const Scanner& scanner, ChunkKey key) {
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
  if (is_measured) {
    make_room(cached_sizes_, static_cast<std::size_t>(indexed->before.chunks + 1 - cached_sizes_.size()));
  }

  for (DamageRow& row : damage) add_damage(std::move(row), too_many);
  std::optional<Ended> ended;
  if (indexed) {
    if (begins_interval) ended = add_anchor(key, indexed->before, std::move(next_tail));
    tail_.push_back(*indexed);
    if (is_measured) {
      cached_sizes_.resize(static_cast<std::size_t>(indexed->before.chunks) + 1);
      cached_sizes_.back() = scanner.measured();
    }
    sizes_known_ = sizes_known_ && indexed->chunk.decoded_size.has_value();
  }
  totals_ = scanner.totals();
  return ended;
}

// Takes `too_many` if the table is full. REQUIRES: memory is reserved.
void ScanResults::add_damage(DamageRow row, std::string& too_many) {
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

// `next_tail` is empty, with reserved memory. REQUIRES: memory is reserved.
std::optional<ScanResults::Ended> ScanResults::add_anchor(ChunkKey key, const PrefixSums& before,
                                                          IndexedChunks next_tail) {
  std::optional<Ended> ended;
  if (!anchors_.empty() && has_tail_) ended = Ended{{anchors_.back(), before}, std::move(tail_)};
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
  return ended;
}

std::optional<ChunkKey> ScanResults::take(CatalogSnapshot snapshot, bool has_grown) {
  has_tail_ = false;
  stride_ = snapshot.stride;
  anchors_ = std::move(snapshot.anchors);
  sizes_known_ = snapshot.sizes_known;
  totals_ = snapshot.totals;
  cached_sizes_ = std::move(snapshot.cached_sizes);
  *damage_ = std::move(snapshot.damage);
  if (!has_grown) return std::nullopt;
  // The interval after the last anchor may differ now.
  const Anchor last = anchors_.back();
  totals_ = last.before;
  anchors_.pop_back();
  cached_sizes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(cached_sizes_.size(), totals_.chunks)));
  return last.key;
}

std::optional<IntervalPlace> ScanResults::interval(SearchKey search_key, std::uint64_t value) const {
  const auto after =
      std::ranges::upper_bound(anchors_, value, {}, [&](const Anchor& anchor) { return anchor.before.at(search_key); });
  if (after == anchors_.begin()) return std::nullopt;
  const Anchor& from = *(after - 1);
  return IntervalPlace{from, after == anchors_.end() ? totals_ : after->before};
}

const IndexedChunks* ScanResults::tail(const Anchor& from) const {
  return has_tail_ && from.key == anchors_.back().key ? &tail_ : nullptr;
}

}  // namespace recordfs
