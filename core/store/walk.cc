#include "core/store/walk.h"

#include <algorithm>
#include <new>
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

// The regions of a step, and what they leave of a chunk that can't be read: no byte is told of twice.
std::vector<DamagedRegion> with_all_of(const ChunkInfo& chunk, const Error& why, std::vector<DamagedRegion> told) {
  std::vector<DamagedRegion> all;
  Position at = chunk.begin;
  for (DamagedRegion& region : told) {
    if (region.begin > at && region.begin < chunk.end) all.push_back(region_of(at, region.begin, why));
    at = std::max(at, region.end);
    all.push_back(std::move(region));
  }
  if (at < chunk.end) all.push_back(region_of(at, chunk.end, why));
  return all;
}

bool says_enough(const ChunkInfo& chunk, Depth depth) {
  return depth == Depth::kHeaders || (chunk.records && (chunk.decoded_size || depth == Depth::kCounts));
}

Learnt learnt_of(const ChunkInfo& chunk) {
  const std::uint64_t records = chunk.records.value_or(0);
  const std::uint64_t size = chunk.decoded_size.value_or(Learnt::kNothing);
  const bool fits = records < Learnt::kNothing && (size < Learnt::kNothing || !chunk.decoded_size);
  if (!fits) return {};
  return {.records = static_cast<std::uint32_t>(records), .size = static_cast<std::uint32_t>(size)};
}

}  // namespace

Result<std::optional<Error>> learn(const MakeLayout& make_layout, Depth depth, ChunkInfo& chunk) {
  if (says_enough(chunk, depth)) return std::optional<Error>{};
  auto layout = make_layout(chunk);
  if (layout) {
    chunk.records = layout->records();
    chunk.decoded_size = layout->total();
    return std::optional<Error>{};
  }
  if (!lies_in_the_bytes(layout.error().code)) return std::move(layout).error();
  if (chunk.records) return std::optional<Error>{};
  chunk.records = 0;
  return std::optional(std::move(layout).error());
}

Walk::Walk(const Container& container, Position container_size, Depth depth, MakeLayout make_layout)
    : Walk(container, container_size, depth, container.first(), {}, {}, std::move(make_layout)) {}

Walk::Walk(const Container& container, Position container_size, Depth depth, ChunkKey from, Totals before,
           std::vector<Learnt> learnt, MakeLayout make_layout)
    : container_(container),
      depth_(depth),
      make_layout_(make_layout ? std::move(make_layout)
                               : [&container](const ChunkInfo& chunk) { return container.layout(chunk); }),
      steps_left_(container_size + 1),
      learnt_(std::move(learnt)),
      learnt_from_(before.chunks),
      next_(from),
      totals_(before) {}

Result<void> Walk::step() {
  try {
    return take_step();
  } catch (const std::bad_alloc&) {
    // A walk goes on in threads of its own, where nobody else would catch what the standard library throws.
    return Error{Code::kOutOfMemory, next_->position, "no memory"};
  }
}

// As learn(). A chunk of which something was learnt before costs no layout.
Result<std::optional<Error>> Walk::learn_or_recall(ChunkInfo& chunk) {
  learnt_now_ = {};
  if (says_enough(chunk, depth_)) return std::optional<Error>{};
  const std::uint64_t at = totals_.chunks - learnt_from_;
  if (at < learnt_.size() && learnt_[static_cast<std::size_t>(at)] != Learnt{}) {
    const Learnt& before = learnt_[static_cast<std::size_t>(at)];
    if (!chunk.records) chunk.records = before.records;
    if (!chunk.decoded_size && before.size != Learnt::kNothing) chunk.decoded_size = before.size;
    return std::optional<Error>{};
  }
  auto unknown = learn(make_layout_, depth_, chunk);
  if (unknown) learnt_now_ = learnt_of(chunk);
  return unknown;
}

Result<void> Walk::take_step() {
  auto taken = container_.scan(*next_);
  if (!taken) return std::move(taken).error();
  if (taken->chunk) {
    auto unknown = learn_or_recall(*taken->chunk);
    if (!unknown) return std::move(unknown).error();
    if (*unknown) taken->damage = with_all_of(*taken->chunk, **unknown, std::move(taken->damage));
  }
  chunk_.reset();
  damage_.clear();
  for (DamagedRegion& region : taken->damage) {
    const std::uint64_t first = totals_.records + region.records_before;
    damage_.push_back({std::move(region), first});
  }
  if (taken->chunk) {
    chunk_.emplace(Place{*taken->chunk, totals_});
    totals_ = chunk_->after();
  }
  next_ = taken->next;
  if (next_) totals_.position = std::max(totals_.position, next_->position);
  if (--steps_left_ == 0) next_.reset();
  return {};
}

}  // namespace recordfs
