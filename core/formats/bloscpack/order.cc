#include "core/formats/bloscpack/order.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace recordfs::bloscpack {
namespace {

enum class Kind : std::uint8_t { kChunk, kLost };

// Consecutive chunks without usable offsets.
class Chain final : public ChunkOrder {
 public:
  Chain(const Source& source, const Survey& survey) : source_(source), survey_(survey) {}

  ChunkKey first() const override { return {survey_.first_chunk, 0}; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    if (survey_.count && at.state >= *survey_.count) return rest(at.position);
    if (at.position >= source_.size()) return Step{};
    ASSIGN_OR_RETURN(const auto look, look_at(context, source_, survey_, at.position));
    Step step;
    if (!look.header) {
      // A record can hold such a file, and its bytes look like the begin of a chunk, so nothing is searched for.
      step.damage.push_back(region_of(at.position, source_.size(), look.why, left(at.state)));
      return step;
    }
    step.chunk = describe(at.position, at.state, look);
    if (look.end < source_.size()) {
      step.next = ChunkKey{look.end, at.state + 1};
    } else if (left(at.state + 1).value_or(0) > 0) {
      const Error why{Code::kUnfinished, look.end, "the file ends before the chunks that follow"};
      step.damage.push_back(region_of(look.end - 1, look.end, why, left(at.state + 1)));
      step.damage.back().records_before = 1;
    }
    return step;
  }

 private:
  std::optional<std::uint64_t> left(std::uint64_t index) const {
    return survey_.count ? std::optional(*survey_.count - index) : std::nullopt;
  }

  Step rest(Position begin) const {
    Step step;
    if (begin < source_.size() && !survey_.rest_is_slack) {
      const Error why{Code::kDamage, begin, "bytes after the last chunk that the header counts"};
      step.damage.push_back(region_of(begin, source_.size(), why, std::nullopt));
    }
    return step;
  }

  const Source& source_;
  const Survey& survey_;
};

using Entry = Offsets::Entry;

// An item is rejected if more offsets than this point into it, even if none of them points to an item.
constexpr std::size_t kMostInside = 64;

// Items of the proposal whose offsets do not ascend, or not all of which point to an item. An item depends only on
// its own offset and on those that point into it, so scan and locate agree.
class Items final : public ChunkOrder {
 public:
  Items(const Source& source, const Survey& survey, std::vector<Entry> entries)
      : source_(source),
        survey_(survey),
        offsets_(source, survey.offsets_begin, survey.offsets),
        entries_(std::move(entries)) {}

  ChunkKey first() const override { return {offsets_.begin(), 0}; }
  bool is_seekable() const override { return true; }
  bool is_file_order() const override { return false; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
    Step step;
    if (at.state >= offsets_.count()) return step;
    ASSIGN_OR_RETURN(const auto item, item_of(context, at.state));
    step.chunk = item.info;
    if (item.why) step.damage.push_back(region_of(step.chunk->begin, step.chunk->end, *item.why, 1));
    if (at.state + 1 < offsets_.count()) step.next = ChunkKey{offsets_.place_of(at.state + 1), at.state + 1};
    return step;
  }

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
    std::optional<std::uint64_t> index;
    if (at < survey_.first_chunk) {
      if (at >= offsets_.begin() && at < offsets_.place_of(offsets_.count()))
        index = (at - offsets_.begin()) / kOffsetSize;
    } else {
      auto after = std::ranges::upper_bound(entries_, at, {}, &Entry::position);
      for (std::size_t i = 0; after != entries_.begin() && i <= kMostInside; ++i) {
        --after;
        ASSIGN_OR_RETURN(const auto seen, look_at(context, source_, survey_, after->position));
        if (!seen.header) continue;
        index = std::ranges::lower_bound(entries_, Entry{after->position, 0})->index;
        break;
      }
    }
    if (!index) return std::optional<ChunkInfo>{};
    ASSIGN_OR_RETURN(const auto item, item_of(context, *index));
    if (at < item.info.begin || at >= item.info.end) return std::optional<ChunkInfo>{};
    return std::optional(item.info);
  }

 private:
  struct Item {
    ChunkInfo info;
    std::optional<Error> why;  // set if unreadable; the item is then the 8 bytes of its offset
  };

  Result<Item> item_of(const RequestContext& context, std::uint64_t index) const {
    ASSIGN_OR_RETURN(const auto offset, offsets_.at(context, index));
    Look seen;
    ASSIGN_OR_RETURN(auto why, find_fault(context, index, offset, seen));
    if (!why) return Item{describe(offset, index, seen), std::nullopt};
    const Position place = offsets_.place_of(index);
    return Item{describe_lost(survey_, place, place + kOffsetSize, index, 1), std::move(why)};
  }

  Result<std::optional<Error>> find_fault(const RequestContext& context, std::uint64_t index, Position at,
                                          Look& seen) const {
    const auto fault = [&](std::string why) {
      return std::optional(Error{Code::kDamage, offsets_.place_of(index), std::move(why)});
    };
    if (at == kUnset) return fault("an item without an offset");
    const auto own = std::ranges::lower_bound(entries_, Entry{at, 0});
    if (own == entries_.end() || own->position != at) {
      return fault(fmt::format("offset {} is not a valid item position", static_cast<std::int64_t>(at)));
    }
    if (own->index != index) return fault(fmt::format("item {} has the same offset of {}", own->index, at));
    ASSIGN_OR_RETURN(auto there, look_at(context, source_, survey_, at));
    seen = std::move(there);
    if (!seen.header) return fault(fmt::format("no item at byte {}: {}", at, seen.why.detail));
    auto after = own;
    while (after != entries_.end() && after->position == at) ++after;
    ASSIGN_OR_RETURN(const auto reaches,
                     reaches_into_another(context, entries_.data() + (after - entries_.begin()), seen.end));
    if (reaches) return fault(fmt::format("the item at byte {} overlaps another one", at));
    return std::optional<Error>{};
  }

  // Returns whether an item that ends at `end` overlaps one of those from `after` on.
  Result<bool> reaches_into_another(const RequestContext& context, const Entry* after, Position end) const {
    const Entry* const all = entries_.data() + entries_.size();
    for (std::size_t i = 0; after != all && after->position < end; ++after, ++i) {
      if (i == kMostInside) return true;
      ASSIGN_OR_RETURN(const auto seen, look_at(context, source_, survey_, after->position));
      if (seen.header) return true;
    }
    return false;
  }

  const Source& source_;
  const Survey& survey_;
  const Offsets offsets_;
  const std::vector<Entry> entries_;  // offsets that point to possible items, sorted by position
};

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

// Consecutive chunks with ascending offsets. An offset that points to a chunk is an anchor. The scan visits every
// anchor, and damage between two anchors stays between them. So the chunk at a byte is found from the anchor before
// it.
class Anchored final : public ChunkOrder {
 public:
  Anchored(const Source& source, const Survey& survey)
      : source_(source),
        survey_(survey),
        count_(*survey.count),
        offsets_(source, survey.offsets_begin, survey.offsets) {}

  ChunkKey first() const override { return {survey_.first_chunk, 0}; }
  bool is_seekable() const override { return true; }

  Result<Step> scan(const RequestContext& context, ChunkKey at) const override {
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

  Result<std::optional<ChunkInfo>> locate(const RequestContext& context, Position at) const override {
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

  // Returns where the chunk of a key begins: at its offset if that is an anchor, otherwise where the previous chunk
  // ends.
  Result<Place> place_of(const RequestContext& context, ChunkKey at, Step& step) const {
    Place place;
    place.state = State::read(at.state);
    place.begin = at.position;
    Result<std::uint64_t> own = Position{0};
    if (place.index() < offsets_.count()) own = offsets_.at(context, place.index());
    if (!own) return std::move(own).error();
    if (*own >= at.position && place.index() < offsets_.count()) {
      ASSIGN_OR_RETURN(auto seen, look_at(context, source_, survey_, *own));
      place.is_anchor = seen.header.has_value();
      place.look = std::move(seen);
    }
    if (place.is_anchor) {
      place.begin = *own;
      if (*own > at.position && !survey_.gaps_are_slack) {
        step.damage.push_back(
            region_of(at.position, *own, {Code::kDamage, at.position, "bytes between two chunks"}, 0));
      }
    } else if (survey_.gaps_are_slack) {
      // Free bytes may follow an item, so its end does not locate the next one.
      place.look.header.reset();
      const Code code = place.look.why.code;
      place.look.why = {code, at.position, fmt::format("no item at byte {}, where its offset points", *own)};
    } else {
      ASSIGN_OR_RETURN(auto seen, look_at(context, source_, survey_, at.position));
      place.look = std::move(seen);
    }
    TRY(find_next(context, place));
    return place;
  }

  // Finds the first anchor after the chunk, among the offsets not yet examined.
  Result<void> find_next(const RequestContext& context, Place& place) const {
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
      ASSIGN_OR_RETURN(const auto seen, is_due ? Result<Look>(Look{}) : look_at(context, source_, survey_, offset));
      if (!is_due && !seen.header) continue;
      state = {state.index, State::kAnchor, index};
      place.next = Anchor{index, offset};
      return {};
    }
    state = {state.index, State::kNowhere, index};
    place.is_pending = index < offsets_.count();
    return {};
  }

  // Returns whether the chunk leaves enough bytes for the chunks between it and the next anchor.
  bool leaves_room(const Place& place) const {
    if (!place.next) return place.look.end <= source_.size();
    const std::uint64_t least = (place.next->index - place.index() - 1) * kBloscHeaderSize;
    return place.look.end <= place.next->position && place.next->position - place.look.end >= least;
  }

  void take_chunk(const Place& place, Step& step) const {
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

  void take_lost(const Place& place, Step& step) const {
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

  // Returns a scan position before `at`, as near as known. REQUIRES: a chunk may be there.
  Result<Trail> trail_to(const RequestContext& context, Position at) const {
    ASSIGN_OR_RETURN(const auto end, offsets_.first_above(context, at));
    ASSIGN_OR_RETURN(auto trail, trail_from(context, end));
    if (trail.reached.position > at) {
      ASSIGN_OR_RETURN(const auto offset, offsets_.at(context, trail.anchor));
      trail.reached = trail.anchor == 0 ? first() : ChunkKey{offset, trail.anchor};
    }
    return trail;
  }

  // Returns the scan position at the last anchor before offset `end`, or at the first chunk.
  Result<Trail> trail_from(const RequestContext& context, std::uint64_t end) const {
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
      ASSIGN_OR_RETURN(const auto seen, look_at(context, source_, survey_, offset));
      if (seen.header) return Trail{index - 1, end, {offset, index - 1}};
    }
    return Trail{0, end, first()};
  }

  const Source& source_;
  const Survey& survey_;
  const std::uint64_t count_;  // of the chunks
  const Offsets offsets_;      // possibly fewer: the file may end inside the offsets
  mutable std::mutex mutex_;
  mutable Trail trail_;  // nowhere_end is 0 if there is none
};

Result<std::unique_ptr<ChunkOrder>> make_items(const RequestContext& context, const Source& source,
                                               const Survey& survey) {
  std::vector<Entry> entries;
  if (source.size() >= kBloscHeaderSize) {
    const Offsets offsets(source, survey.offsets_begin, survey.offsets);
    ASSIGN_OR_RETURN(entries, offsets.sorted(context, survey.first_chunk, source.size() - kBloscHeaderSize));
  }
  return std::unique_ptr<ChunkOrder>(std::make_unique<Items>(source, survey, std::move(entries)));
}

}  // namespace

std::uint64_t declared_size(const Survey& survey, std::uint64_t index) {
  const FileHeader& header = survey.header;
  if (header.dialect == Dialect::kVariable) return 1;
  const bool is_last = survey.count && index + 1 == *survey.count;
  return static_cast<std::uint64_t>(std::max(is_last ? header.last_chunk : header.chunk_size, 1));
}

std::uint64_t most_decoded(std::uint64_t stored) {
  constexpr std::uint64_t kMostRatio = 65536;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  return std::min(stored, kMost / kMostRatio) * kMostRatio;
}

ChunkInfo describe(Position begin, std::uint64_t index, const Look& look) {
  ChunkInfo info;
  info.key = {begin, index};
  info.begin = begin;
  info.end = look.end;
  info.kind = {Kind::kChunk, "chunk"};
  info.codec = look.header->codec();
  info.records = 1;
  info.decoded_size = look.header->size;
  info.stored_size = look.header->stored_size;
  info.detail = {index, 0};
  return info;
}

ChunkInfo describe_lost(const Survey& survey, Position begin, Position end, std::uint64_t index,
                        std::uint64_t records) {
  ChunkInfo info;
  info.key = {begin, index};
  info.begin = begin;
  info.end = end;
  info.kind = {Kind::kLost, "lost"};
  info.codec = "-";
  info.records = records;
  info.stored_size = end - begin;
  const std::uint64_t size = declared_size(survey, index);
  const std::uint64_t last = declared_size(survey, index + records - 1);
  const std::uint64_t most = std::max({most_decoded(info.stored_size), Limits{}.decoded_chunk, last});
  if (records - 1 <= (most - last) / size) info.decoded_size = (records - 1) * size + last;
  info.detail = {index, 0};
  return info;
}

bool is_lost(const ChunkInfo& chunk) { return chunk.kind.as<Kind>() == Kind::kLost; }

std::uint64_t index_of(const ChunkInfo& chunk) { return chunk.detail[0]; }

DamagedRegion region_of(Position begin, Position end, const Error& why, std::optional<std::uint64_t> lost) {
  const bool unfinished = why.code == Code::kUnfinished;
  return {begin, end, unfinished ? DamageClass::kUnfinished : DamageClass::kDamage, 0, lost, why.detail};
}

Result<std::unique_ptr<ChunkOrder>> order_of(const RequestContext& context, const Source& source,
                                             const Survey& survey) {
  switch (survey.order) {
    case Order::kNone:
    case Order::kChain: break;
    case Order::kAnchored: return std::unique_ptr<ChunkOrder>(std::make_unique<Anchored>(source, survey));
    case Order::kItems: return make_items(context, source, survey);
  }
  return std::unique_ptr<ChunkOrder>(std::make_unique<Chain>(source, survey));
}

}  // namespace recordfs::bloscpack
