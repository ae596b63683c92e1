// Chunks one behind the other, with offsets that ascend. An offset that leads to a chunk is an anchor: the walk passes
// every one of them, and what goes wrong between two does not reach beyond. So the chunk at a byte is found from the
// anchor before it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/formats/bloscpack/order.h"

namespace recordfs::bloscpack {
namespace {

// Offsets in a row that lead to no chunk: more than this are not looked through in one step.
constexpr std::uint64_t kMostSkipped = 65536;

struct Anchor {
  std::uint64_t index = 0;
  Position position = 0;
};

class Anchored final : public ChunkOrder {
 public:
  Anchored(const Source& source, const Survey& survey)
      : source_(source),
        survey_(survey),
        count_(*survey.count),
        offsets_(source, survey.offsets_begin, survey.offsets) {}

  ChunkKey first() const override { return {survey_.first_chunk, 0}; }
  bool is_seekable() const override { return true; }
  Result<Step> scan(ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(Position at) const override;

 private:
  // What a step has found so far: the chunk of `index` should begin at `begin`.
  struct Place {
    std::uint64_t index = 0;
    Position begin = 0;
    Look look;
    bool is_anchor = false;
    std::optional<Anchor> next;  // nullopt: none follows
  };

  Result<Look> look(Position at) const { return look_at(source_, at, survey_.header.digest_bytes()); }
  Result<std::optional<Anchor>> anchor_from(std::uint64_t index) const;
  Result<Place> place_of(ChunkKey at, Step& step) const;
  Result<void> find_next(Place& place) const;
  void take_chunk(const Place& place, Step& step) const;
  void take_lost(const Place& place, Step& step) const;
  Result<std::optional<ChunkKey>> key_before(Position at) const;

  const Source& source_;
  const Survey& survey_;
  const std::uint64_t count_;  // of the chunks
  const Offsets offsets_;      // of the first of them: the file may end before the others
};

// The first anchor among the offsets from `index` on.
Result<std::optional<Anchor>> Anchored::anchor_from(std::uint64_t index) const {
  const std::uint64_t end = std::min(offsets_.count(), index + kMostSkipped);
  for (; index < end; ++index) {
    auto offset = offsets_.at(index);
    if (!offset) return std::move(offset).error();
    auto seen = look(*offset);
    if (!seen) return std::move(seen).error();
    if (seen->header) return std::optional(Anchor{index, *offset});
  }
  return std::optional<Anchor>{};
}

Result<void> Anchored::find_next(Place& place) const {
  place.next.reset();
  if (place.index + 1 >= offsets_.count()) return {};
  auto offset = offsets_.at(place.index + 1);
  if (!offset) return std::move(offset).error();
  if (place.look.header && place.look.end == *offset) {
    place.next = Anchor{place.index + 1, *offset};  // where one ends another begins: the next step sees to it
    return {};
  }
  auto next = anchor_from(place.index + 1);
  if (!next) return std::move(next).error();
  place.next = *next;
  return {};
}

// Where the chunk of a key begins: at its offset if that is an anchor, and otherwise where the one before it ends.
Result<Anchored::Place> Anchored::place_of(ChunkKey at, Step& step) const {
  Result<std::uint64_t> own = Position{0};
  if (at.state < offsets_.count()) own = offsets_.at(at.state);
  if (!own) return std::move(own).error();
  Place place;
  place.index = at.state;
  place.begin = at.position;
  if (*own >= at.position && at.state < offsets_.count()) {
    auto seen = look(*own);
    if (!seen) return std::move(seen).error();
    place.is_anchor = seen->header.has_value();
    place.look = std::move(*seen);
  }
  if (place.is_anchor) {
    place.begin = *own;
    if (*own > at.position && !survey_.gaps_are_slack) {
      step.damage.push_back(region_of(at.position, *own, {Code::kDamage, at.position, "bytes between two chunks"}, 0));
    }
  } else if (survey_.gaps_are_slack) {
    // Bytes may be kept free behind an item, so where it ends says nothing of the next one.
    place.look.header.reset();
    place.look.why = {Code::kDamage, at.position, fmt::format("no item at byte {}, where its offset leads", *own)};
  } else {
    auto seen = look(at.position);
    if (!seen) return std::move(seen).error();
    place.look = std::move(*seen);
  }
  if (auto found = find_next(place); !found) return std::move(found).error();
  return place;
}

Result<Step> Anchored::scan(ChunkKey at) const {
  Step step;
  if (at.state >= count_) return step;
  auto place = place_of(at, step);
  if (!place) return std::move(place).error();
  if (!place->is_anchor && place->next && place->next->position == place->begin) {
    // Chunks of which not one byte is left between their neighbours.
    const Anchor next = *place->next;
    const Error why{Code::kDamage, next.position, "the chunks before this one are missing"};
    step.damage.push_back(region_of(next.position, next.position + 1, why, next.index - place->index));
    place = place_of({next.position, next.index}, step);
    if (!place) return std::move(place).error();
  }
  const Position limit = place->next ? place->next->position : source_.size();
  if (place->look.header && place->look.end > limit) {
    place->look.header.reset();
    place->look.why = {Code::kDamage, place->begin, "the chunk reaches into the one behind it"};
  }
  place->look.header ? take_chunk(*place, step) : take_lost(*place, step);
  return step;
}

void Anchored::take_chunk(const Place& place, Step& step) const {
  const Position end = place.look.end;
  step.chunk = describe(place.begin, place.index, place.look);
  if (!place.is_anchor) {
    const Error why{Code::kDamage, place.begin, "the offsets name another place for this chunk"};
    step.damage.push_back(region_of(place.begin, place.begin + 1, why, 0));
  }
  if (place.index + 1 >= count_) return;
  if (place.next || end < source_.size()) {
    step.next = ChunkKey{end, place.index + 1};
    return;
  }
  const Error why{Code::kUnfinished, end, "the file ends before the chunks that follow"};
  step.damage.push_back(region_of(end - 1, end, why, count_ - place.index - 1));
  step.damage.back().records_before = 1;
}

void Anchored::take_lost(const Place& place, Step& step) const {
  if (!place.next) {
    step.damage.push_back(region_of(place.begin, source_.size(), place.look.why, count_ - place.index));
    return;
  }
  const std::uint64_t records = place.next->index - place.index;
  step.chunk = describe_lost(survey_, place.begin, place.next->position, place.index, records);
  Error why = place.look.why;
  why.code = Code::kDamage;  // since there is something behind it
  step.damage.push_back(region_of(place.begin, place.next->position, why, records));
  step.next = ChunkKey{place.next->position, place.next->index};
}

// The key of the last anchor at or before a byte, or the first key.
Result<std::optional<ChunkKey>> Anchored::key_before(Position at) const {
  if (at < survey_.first_chunk) return std::optional<ChunkKey>{};
  auto behind = offsets_.first_above(at);
  if (!behind) return std::move(behind).error();
  for (std::uint64_t i = 1; i <= std::min(*behind, kMostSkipped); ++i) {
    const std::uint64_t index = *behind - i;
    auto offset = offsets_.at(index);
    if (!offset) return std::move(offset).error();
    auto seen = look(*offset);
    if (!seen) return std::move(seen).error();
    if (seen->header) return std::optional(ChunkKey{*offset, index});
  }
  return *behind <= kMostSkipped ? std::optional(first()) : std::nullopt;
}

Result<std::optional<ChunkInfo>> Anchored::locate(Position at) const {
  auto key = key_before(at);
  if (!key) return std::move(key).error();
  for (std::optional<ChunkKey> next = *key; next && next->position <= at;) {
    auto step = scan(*next);
    if (!step) return std::move(step).error();
    if (step->chunk && step->chunk->end > at) {
      if (step->chunk->begin > at) step->chunk.reset();
      return std::move(step->chunk);
    }
    next = step->next;
  }
  return std::optional<ChunkInfo>{};
}

}  // namespace

std::unique_ptr<ChunkOrder> make_anchored(const Source& source, const Survey& survey) {
  return std::make_unique<Anchored>(source, survey);
}

}  // namespace recordfs::bloscpack
