#include "core/store/scanner.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::string_view kTooManyRegions = "this and all following damage (too many regions to list)";

// Reserves memory, so that appending `more` elements does not throw.
template <class Element>
void make_room(std::vector<Element>& vector, std::size_t more) {
  if (vector.capacity() - vector.size() >= more) return;
  vector.reserve(std::max(vector.size() + more, 2 * vector.capacity()));
}

std::uint64_t digits(std::uint64_t number) {
  std::uint64_t count = 1;
  for (; number >= 10; number /= 10) ++count;
  return count;
}

std::string number_or_dash(const std::optional<std::uint64_t>& number) {
  return number ? fmt::format("{}", *number) : "-";
}

std::uint64_t number_or_dash_size(const std::optional<std::uint64_t>& number) { return number ? digits(*number) : 1; }

constexpr std::uint64_t kSeparators = 8;  // seven tabs and a newline
constexpr std::uint64_t kLargestDecoded = std::uint64_t{1} << 48;

DamageClass class_of(Code code) {
  switch (code) {
    case Code::kUnfinished: return DamageClass::kUnfinished;
    case Code::kStale: return DamageClass::kStale;
    case Code::kUnsupported: return DamageClass::kUnsupported;
    default: return DamageClass::kDamage;
  }
}

DamagedRegion region_of(Position begin, Position end, const Error& why) {
  return {.begin = begin,
          .end = end,
          .damage_class = class_of(why.code),
          .records_before = 0,
          .records_lost = std::nullopt,
          .reason = why.detail};
}

// Adds regions for the bytes of an unreadable chunk that `reported` does not cover. No byte is reported twice.
std::vector<DamagedRegion> with_all_of(const ChunkInfo& chunk, const Error& why, std::vector<DamagedRegion> reported) {
  std::vector<DamagedRegion> all;
  Position at = chunk.begin;
  for (DamagedRegion& region : reported) {
    if (region.begin > at && region.begin < chunk.end) all.push_back(region_of(at, region.begin, why));
    at = std::max(at, region.end);
    all.push_back(std::move(region));
  }
  if (at < chunk.end) all.push_back(region_of(at, chunk.end, why));
  return all;
}

bool says_enough(const ChunkInfo& chunk, ScanDetail detail) {
  return detail == ScanDetail::kHeaders || (chunk.records && (chunk.decoded_size || detail == ScanDetail::kCounts));
}

CachedSizes sizes_of(const ChunkInfo& chunk) {
  const std::uint64_t records = chunk.records.value_or(0);
  const std::uint64_t size = chunk.decoded_size.value_or(CachedSizes::kNothing);
  const bool fits = records < CachedSizes::kNothing && (size < CachedSizes::kNothing || !chunk.decoded_size);
  if (!fits) return {};
  return {.records = static_cast<std::uint32_t>(records), .size = static_cast<std::uint32_t>(size)};
}

}  // namespace

// A header may declare any size. The chunks after it must remain reachable.
std::uint64_t counted_size(const ChunkInfo& chunk) {
  const std::uint64_t size = chunk.decoded_size.value_or(1);
  return size > kLargestDecoded ? 1 : size;
}

std::uint64_t PrefixSums::at(SearchKey search_key) const {
  switch (search_key) {
    case SearchKey::kChunks: return chunks;
    case SearchKey::kRecords: return records;
    case SearchKey::kBytes: return bytes;
    case SearchKey::kLines: return bytes + records;
    case SearchKey::kRows: return rows;
    case SearchKey::kPosition: return position;
  }
  return 0;
}

PrefixSums IndexedChunk::after() const {
  return {.chunks = before.chunks + 1,
          .records = before.records + chunk.records.value_or(0),
          .bytes = before.bytes + std::min(counted_size(chunk), kLargestSum - before.bytes),
          .rows = before.rows + chunk_row_size(*this),
          .position = chunk.end};
}

std::string chunk_rows_header() { return "begin\tend\tkind\tcodec\tfirst_ordinal\trecords\tstored\tdecoded\n"; }

std::string chunk_row(const IndexedChunk& indexed) {
  const ChunkInfo& chunk = indexed.chunk;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", chunk.begin, chunk.end, chunk.kind.word(), chunk.codec,
                     indexed.before.records, number_or_dash(chunk.records), chunk.stored_size,
                     number_or_dash(chunk.payload_size()));
}

std::uint64_t chunk_row_size(const IndexedChunk& indexed) {
  const ChunkInfo& chunk = indexed.chunk;
  return digits(chunk.begin) + digits(chunk.end) + chunk.kind.word().size() + chunk.codec.size() +
         digits(indexed.before.records) + number_or_dash_size(chunk.records) + digits(chunk.stored_size) +
         number_or_dash_size(chunk.payload_size()) + kSeparators;
}

Result<std::optional<Error>> measure(const RequestContext& context, const MakeLayout& make_layout, ScanDetail detail,
                                     ChunkInfo& chunk) {
  if (says_enough(chunk, detail)) return std::optional<Error>{};
  auto layout = make_layout(context, chunk);
  if (layout) {
    chunk.records = (*layout)->records();
    chunk.decoded_size = (*layout)->total();
    return std::optional<Error>{};
  }
  if (!is_permanent(layout.error().code)) return std::move(layout).error();
  if (chunk.records) return std::optional<Error>{};
  chunk.records = 0;
  return std::optional(std::move(layout).error());
}

namespace {

MakeLayout layout_maker(const Container& container) {
  return [&container](const RequestContext& context, const ChunkInfo& chunk) -> Result<std::shared_ptr<const Layout>> {
    ASSIGN_OR_RETURN(auto layout, container.layout(context, chunk));
    return std::make_shared<const Layout>(std::move(layout));
  };
}

}  // namespace

Scanner::Scanner(const Container& container, Position container_size, ScanDetail detail, MakeLayout make_layout)
    : Scanner(container, container_size, detail, container.traits().first, {}, {}, std::move(make_layout)) {}

Scanner::Scanner(const Container& container, Position container_size, ScanDetail detail, ChunkKey from,
                 PrefixSums before, std::vector<CachedSizes> cached_sizes, MakeLayout make_layout)
    : container_(container),
      size_(container_size),
      detail_(detail),
      make_layout_(make_layout ? std::move(make_layout) : layout_maker(container)),
      steps_left_(container_size + 1),
      cached_sizes_(std::move(cached_sizes)),
      cached_from_(before.chunks),
      next_(from),
      totals_(before) {}

// Like measure(), but uses cached sizes.
Result<std::optional<Error>> Scanner::measure_or_recall(const RequestContext& context, ChunkInfo& chunk) {
  measured_ = {};
  if (says_enough(chunk, detail_)) return std::optional<Error>{};
  const std::uint64_t at = totals_.chunks - cached_from_;
  if (at < cached_sizes_.size() && cached_sizes_[static_cast<std::size_t>(at)] != CachedSizes{}) {
    const CachedSizes& before = cached_sizes_[static_cast<std::size_t>(at)];
    if (!chunk.records) chunk.records = before.records;
    if (!chunk.decoded_size && before.size != CachedSizes::kNothing) chunk.decoded_size = before.size;
    return std::optional<Error>{};
  }
  auto unknown = measure(context, make_layout_, detail_, chunk);
  if (unknown) measured_ = sizes_of(chunk);
  return unknown;
}

// Names the bytes that could not be read. Nothing tells how many records followed the end of a truncated file.
void Scanner::complete(DamagedRegion& region) const {
  const auto unreadable = source_ == nullptr ? std::nullopt : source_->unreadable_in(region.begin, region.end);
  if (unreadable) {
    if (region.damage_class != DamageClass::kDamage) region.records_lost.reset();
    region.damage_class = DamageClass::kDamage;
    region.reason = unreadable->detail;
  }
  const bool is_exact = region.records_lost.value_or(0) > 0 && container_.traits().begin_tells_count;
  if (region.damage_class != DamageClass::kUnfinished || region.end < size_ || is_exact) return;
  region.least_lost = region.records_lost.value_or(0);
  region.records_lost.reset();
}

Result<void> Scanner::step(const RequestContext& context) {
  ASSIGN_OR_RETURN(auto taken, container_.scan(context.filling_unreadable(), *next_));
  if (taken.chunk) {
    ASSIGN_OR_RETURN(const auto unknown, measure_or_recall(context, *taken.chunk));
    if (unknown) taken.damage = with_all_of(*taken.chunk, *unknown, std::move(taken.damage));
  }
  chunk_.reset();
  damage_.clear();
  for (DamagedRegion& region : taken.damage) {
    complete(region);
    const std::uint64_t first = totals_.records + region.records_before;
    damage_.push_back({std::move(region), first});
  }
  if (taken.chunk) {
    chunk_.emplace(IndexedChunk{*taken.chunk, totals_});
    totals_ = chunk_->after();
  }
  next_ = taken.next;
  if (next_) totals_.position = std::max(totals_.position, next_->position);
  if (--steps_left_ == 0) next_.reset();
  return {};
}

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
  last.least_lost = last.records_lost.value_or(last.least_lost) + next.records_lost.value_or(next.least_lost);
  if (last.records_lost && next.records_lost) {
    last.records_lost = last.least_lost;
    last.least_lost = 0;
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
  if (indexed) places_.make_room();

  for (DamageRow& row : damage) add_damage(std::move(row), too_many);
  std::optional<Ended> ended;
  if (indexed) {
    if (begins_interval) ended = add_anchor(key, indexed->before, std::move(next_tail));
    tail_.push_back(*indexed);
    places_.add(*indexed);
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
      last.least_lost = last.records_lost.value_or(last.least_lost);
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
  places_ = std::move(snapshot.places);
  *damage_ = std::move(snapshot.damage);
  if (!has_grown) return std::nullopt;
  // The interval after the last anchor may differ now.
  const Anchor last = anchors_.back();
  totals_ = last.before;
  anchors_.pop_back();
  cached_sizes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(cached_sizes_.size(), totals_.chunks)));
  places_.truncate(totals_.chunks);
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
