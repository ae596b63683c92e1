// Consecutive chunks with ascending offsets. An offset that points to a chunk is an anchor. The scan visits every
// anchor, and damage between two anchors stays between them. So the chunk at a byte is found from the anchor before
// it.
#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/formats/bloscpack/order.h"

namespace recordfs::bloscpack {
namespace {

// Largest number of offsets examined in one step.
constexpr std::uint64_t kMostLooks = 65536;

struct Anchor {
  std::uint64_t index = 0;
  Position position = 0;
};

// ChunkKey::state: the chunk's number, and the results for the offsets after its own. So no scan examines one offset
// again for every chunk before it.
struct State {
  enum Kind : std::uint64_t { kUnknown, kNowhere, kAnchor };
  std::uint64_t index = 0;
  Kind kind = kUnknown;
  std::uint64_t to = 0;  // kNowhere: offsets before `to` are no anchors; kAnchor: `to` is the next anchor

  static constexpr unsigned kBits = 23;
  static_assert(kMostOffsets < 1u << kBits);
  static State read(std::uint64_t packed) {
    constexpr std::uint64_t kMask = (1u << kBits) - 1;
    return {packed & kMask, static_cast<Kind>(packed >> 2 * kBits), packed >> kBits & kMask};
  }
  std::uint64_t packed() const { return index | to << kBits | std::uint64_t{kind} << 2 * kBits; }
  // Returns the state for the next chunk.
  State next() const { return to > index + 1 ? State{index + 1, kind, to} : State{index + 1}; }
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
  Result<Step> scan(const RequestContext& context, ChunkKey at) const override;
  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override;

 private:
  // Intermediate result of a step: the chunk is expected at `begin`.
  struct Place {
    State state;
    Position begin = 0;
    Look look;
    bool is_anchor = false;
    bool is_pending = false;     // some offsets are still to be examined
    std::optional<Anchor> next;  // nullopt: none follows

    std::uint64_t index() const { return state.index; }
  };

  // Where the last locate() ended, because the next one is usually nearby.
  struct Trail {
    std::uint64_t anchor = 0;
    std::uint64_t nowhere_end = 0;  // the offsets from `anchor` + 1 up to here are no anchors
    ChunkKey reached;               // scanned from the anchor
  };

  Result<Look> look(const RequestContext& context, Position at) const {
    return look_at(context, source_, at, survey_.header.digest_bytes());
  }
  Result<Place> place_of(const RequestContext& context, ChunkKey at, Step& step) const;
  Result<void> find_next(const RequestContext& context, Place& place) const;
  bool leaves_room(const Place& place) const;
  void take_chunk(const Place& place, Step& step) const;
  void take_lost(const Place& place, Step& step) const;
  Result<Trail> trail_to(const RequestContext& context, Position at) const;
  Result<Trail> trail_from(const RequestContext& context, std::uint64_t end) const;

  const Source& source_;
  const Survey& survey_;
  const std::uint64_t count_;  // of the chunks
  const Offsets offsets_;      // possibly fewer: the file may end inside the offsets
  mutable std::mutex mutex_;
  mutable Trail trail_;  // nowhere_end is 0 if there is none
};

// Finds the first anchor after the chunk, among the offsets not yet examined.
Result<void> Anchored::find_next(const RequestContext& context, Place& place) const {
  State& state = place.state;
  const std::uint64_t first = state.index + 1;
  if (first >= offsets_.count()) return {};
  if (state.kind == State::kAnchor) {
    ASSIGN_OR_RETURN(const auto offset, offsets_.at(context, state.to));
    place.next = Anchor{state.to, offset};
    return {};
  }
  std::uint64_t index = state.kind == State::kNowhere ? state.to : first;
  const std::uint64_t end = std::min(offsets_.count(), index + kMostLooks);
  for (; index < end; ++index) {
    ASSIGN_OR_RETURN(const auto offset, offsets_.at(context, index));
    // The next chunk is due where this one ends; the next step examines it.
    const bool is_due = index == first && place.look.header && place.look.end == offset;
    ASSIGN_OR_RETURN(const auto seen, is_due ? Result<Look>(Look{}) : look(context, offset));
    if (!is_due && !seen.header) continue;
    state = {state.index, State::kAnchor, index};
    place.next = Anchor{index, offset};
    return {};
  }
  state = {state.index, State::kNowhere, index};
  place.is_pending = index < offsets_.count();
  return {};
}

// Returns where the chunk of a key begins: at its offset if that is an anchor, otherwise where the previous chunk
// ends.
Result<Anchored::Place> Anchored::place_of(const RequestContext& context, ChunkKey at, Step& step) const {
  Place place;
  place.state = State::read(at.state);
  place.begin = at.position;
  Result<std::uint64_t> own = Position{0};
  if (place.index() < offsets_.count()) own = offsets_.at(context, place.index());
  if (!own) return std::move(own).error();
  if (*own >= at.position && place.index() < offsets_.count()) {
    ASSIGN_OR_RETURN(auto seen, look(context, *own));
    place.is_anchor = seen.header.has_value();
    place.look = std::move(seen);
  }
  if (place.is_anchor) {
    place.begin = *own;
    if (*own > at.position && !survey_.gaps_are_slack) {
      step.damage.push_back(region_of(at.position, *own, {Code::kDamage, at.position, "bytes between two chunks"}, 0));
    }
  } else if (survey_.gaps_are_slack) {
    // Free bytes may follow an item, so its end does not locate the next one.
    place.look.header.reset();
    const Code code = place.look.why.code;
    place.look.why = {code, at.position, fmt::format("no item at byte {}, where its offset points", *own)};
  } else {
    ASSIGN_OR_RETURN(auto seen, look(context, at.position));
    place.look = std::move(seen);
  }
  TRY(find_next(context, place));
  return place;
}

// Returns whether the chunk leaves enough bytes for the chunks between it and the next anchor.
bool Anchored::leaves_room(const Place& place) const {
  if (!place.next) return place.look.end <= source_.size();
  const std::uint64_t least = (place.next->index - place.index() - 1) * kBloscHeaderSize;
  return place.look.end <= place.next->position && place.next->position - place.look.end >= least;
}

Result<Step> Anchored::scan(const RequestContext& context, ChunkKey at) const {
  Step step;
  if (State::read(at.state).index >= count_) return step;
  ASSIGN_OR_RETURN(auto place, place_of(context, at, step));
  if (place.is_pending) {
    step.damage.clear();  // reported when the search is complete
    step.next = ChunkKey{at.position, place.state.packed()};
    return step;
  }
  if (place.look.header && !leaves_room(place)) {
    place.look.header.reset();
    place.look.why = {Code::kDamage, place.begin, "the chunk overlaps the following one"};
  }
  place.look.header ? take_chunk(place, step) : take_lost(place, step);
  if (step.chunk) step.chunk->key.state = place.state.packed();
  return step;
}

void Anchored::take_chunk(const Place& place, Step& step) const {
  const Position end = place.look.end;
  step.chunk = describe(place.begin, place.index(), place.look);
  if (!place.is_anchor) {
    const Error why{Code::kDamage, place.begin, "the offsets list another position for this chunk"};
    step.damage.push_back(region_of(place.begin, place.begin + 1, why, 0));
  }
  if (place.index() + 1 >= count_) return;
  if (place.next || end < source_.size()) {
    step.next = ChunkKey{end, place.state.next().packed()};
    return;
  }
  const Error why{Code::kUnfinished, end, "the file ends before the chunks that follow"};
  step.damage.push_back(region_of(end - 1, end, why, count_ - place.index() - 1));
  step.damage.back().records_before = 1;
}

void Anchored::take_lost(const Place& place, Step& step) const {
  Error why = place.look.why;
  if (place.next) {
    const std::uint64_t records = place.next->index - place.index();
    step.chunk = describe_lost(survey_, place.begin, place.next->position, place.index(), records);
    why.code = Code::kDamage;  // because something follows
    step.damage.push_back(region_of(place.begin, place.next->position, why, records));
    step.next = ChunkKey{place.next->position, place.next->index};
    return;
  }
  step.damage.push_back(region_of(place.begin, source_.size(), why, count_ - place.index()));
  // Chunks that the file's end may have cut off may never have existed.
  if (why.code != Code::kDamage || place.index() >= offsets_.count()) return;
  const std::uint64_t records = std::min(offsets_.count() - place.index(), source_.size() - place.begin);
  step.chunk = describe_lost(survey_, place.begin, source_.size(), place.index(), records);
}

// Returns the scan position at the last anchor before offset `end`, or at the first chunk.
Result<Anchored::Trail> Anchored::trail_from(const RequestContext& context, std::uint64_t end) const {
  Trail known;
  {
    const std::lock_guard lock(mutex_);
    known = trail_;
  }
  for (std::uint64_t index = end; index > 0; --index) {
    if (index > known.anchor + 1 && index <= known.nowhere_end) {
      known.nowhere_end = std::max(end, known.nowhere_end);
      return known;
    }
    ASSIGN_OR_RETURN(const auto offset, offsets_.at(context, index - 1));
    ASSIGN_OR_RETURN(const auto seen, look(context, offset));
    if (seen.header) return Trail{index - 1, end, {offset, index - 1}};
  }
  return Trail{0, end, first()};
}

// Returns a scan position before `at`, as near as known. REQUIRES: a chunk may be there.
Result<Anchored::Trail> Anchored::trail_to(const RequestContext& context, Position at) const {
  ASSIGN_OR_RETURN(const auto end, offsets_.first_above(context, at));
  ASSIGN_OR_RETURN(auto trail, trail_from(context, end));
  if (trail.reached.position > at) {
    ASSIGN_OR_RETURN(const auto offset, offsets_.at(context, trail.anchor));
    trail.reached = trail.anchor == 0 ? first() : ChunkKey{offset, trail.anchor};
  }
  return trail;
}

Result<std::optional<ChunkInfo>> Anchored::locate(const RequestContext& context, Position at) const {
  std::optional<ChunkInfo> found;
  if (at < survey_.first_chunk) return found;
  ASSIGN_OR_RETURN(auto trail, trail_to(context, at));
  for (std::optional<ChunkKey> next = trail.reached; next && next->position <= at;) {
    trail.reached = *next;
    ASSIGN_OR_RETURN(const auto step, scan(context, *next));
    if (step.chunk && step.chunk->end > at) {
      if (step.chunk->begin <= at) found = step.chunk;
      break;
    }
    next = step.next;
  }
  const std::lock_guard lock(mutex_);
  trail_ = trail;
  return found;
}

}  // namespace

std::unique_ptr<ChunkOrder> make_anchored(const Source& source, const Survey& survey) {
  return std::make_unique<Anchored>(source, survey);
}

}  // namespace recordfs::bloscpack
