#include "core/store/scanner.h"

#include <algorithm>
#include <utility>

namespace recordfs {
namespace {

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

Result<std::optional<Error>> measure(const RequestContext& context, const MakeLayout& make_layout, ScanDetail detail,
                                     ChunkInfo& chunk) {
  if (says_enough(chunk, detail)) return std::optional<Error>{};
  auto layout = make_layout(context, chunk);
  if (layout) {
    chunk.records = layout->records();
    chunk.decoded_size = layout->total();
    return std::optional<Error>{};
  }
  if (!is_permanent(layout.error().code)) return std::move(layout).error();
  if (chunk.records) return std::optional<Error>{};
  chunk.records = 0;
  return std::optional(std::move(layout).error());
}

Scanner::Scanner(const Container& container, Position container_size, ScanDetail detail, MakeLayout make_layout)
    : Scanner(container, container_size, detail, container.traits().first, {}, {}, std::move(make_layout)) {}

Scanner::Scanner(const Container& container, Position container_size, ScanDetail detail, ChunkKey from,
                 PrefixSums before, std::vector<CachedSizes> cached_sizes, MakeLayout make_layout)
    : container_(container),
      detail_(detail),
      make_layout_(make_layout ? std::move(make_layout)
                               : [&container](const RequestContext& context,
                                              const ChunkInfo& chunk) { return container.layout(context, chunk); }),
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

Result<void> Scanner::step(const RequestContext& context) {
  ASSIGN_OR_RETURN(auto taken, container_.scan(context, *next_));
  if (taken.chunk) {
    ASSIGN_OR_RETURN(const auto unknown, measure_or_recall(context, *taken.chunk));
    if (unknown) taken.damage = with_all_of(*taken.chunk, *unknown, std::move(taken.damage));
  }
  chunk_.reset();
  damage_.clear();
  for (DamagedRegion& region : taken.damage) {
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

}  // namespace recordfs
