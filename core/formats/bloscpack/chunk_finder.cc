#include "core/formats/bloscpack/chunk_finder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"

namespace recordfs::bloscpack {
namespace {

// Returns whether the bytes of an offset can be the start of a Blosc header.
bool may_begin_blosc(std::uint64_t offset) { return (offset & 0xFFFF) == kBloscVersions; }

}  // namespace

Result<void> ChunkFinder::run() {
  const FileHeader& header = found_.header;
  bool has_offsets = header.has_offsets;
  if (header.dialect == Dialect::kVariable && !has_offsets && header.chunks != 0) {
    // The proposal requires offsets, so a missing option may be a mistake.
    ASSIGN_OR_RETURN(const auto chunk, is_chunk(at_));
    has_offsets = !chunk;
  }
  if (!has_offsets) {
    use_sequential_order(at_);
    return {};
  }
  found_.offsets_begin = at_;
  room_ = std::min((source_.size() - at_) / kOffsetSize, kMostOffsets);
  ASSIGN_OR_RETURN(const auto unset, find_unset());
  if (unset) return {};
  return header.dialect == Dialect::kVariable ? find_items() : find_anchors();
}

void ChunkFinder::use_sequential_order(Position first) {
  found_.order = Order::kChain;
  found_.first_chunk = first;
  // The short headers end with the count.
  const Position field_end = std::min<Position>(found_.header.size, kChunksField + 8);
  const Position field = field_end - std::min<Position>(field_end, 8);
  if (found_.header.chunks >= 0) {
    found_.count = static_cast<std::uint64_t>(found_.header.chunks);
  } else if (found_.header.chunks != kUnknown) {
    found_.report(field, field_end, DamageClass::kDamage, 0,
                  fmt::format("invalid number of chunks: {}", found_.header.chunks));
  }
  const bool is_missing = found_.count && *found_.count > 0 && first == source_.size();
  if (is_missing) {
    found_.report(field, field_end, DamageClass::kUnfinished, found_.count, "the file ends before its first chunk");
  }
}

Result<bool> ChunkFinder::find_unset() {
  ASSIGN_OR_RETURN(const auto unset, Offsets(source_, at_, room_).leading_unset());
  if (unset == 0) return false;
  const Position after = at_ + unset * kOffsetSize;
  ASSIGN_OR_RETURN(const auto chunk, is_chunk(after));
  if (!chunk && after != source_.size()) return false;
  use_sequential_order(after);
  return true;
}

Result<std::optional<std::uint64_t>> ChunkFinder::offsets_before(std::uint64_t offset) const {
  if (offset <= at_ || offset >= source_.size() || (offset - at_) % kOffsetSize != 0)
    return std::optional<std::uint64_t>{};
  ASSIGN_OR_RETURN(const auto chunk, is_chunk(offset));
  return chunk ? std::optional((offset - at_) / kOffsetSize) : std::nullopt;
}

Result<void> ChunkFinder::find_anchors() {
  const auto declared = found_.header.declared_offsets();
  std::optional<std::uint64_t> there;
  if (room_ > 0) {
    ASSIGN_OR_RETURN(const auto first, Offsets(source_, at_, room_).at(0));
    ASSIGN_OR_RETURN(const auto before, offsets_before(first));
    there = before;
  }
  if (!there && (!declared || *declared > (source_.size() - at_) / kOffsetSize)) {
    found_.refuse(declared ? Code::kUnfinished : Code::kDamage, at_,
                  "the file does not contain the offsets that its header declares");
    return {};
  }
  if (there && declared && *there != *declared) {
    found_.report(
        kChunksField, kLargestHeader, DamageClass::kDamage, 0,
        fmt::format("the header declares {} offsets, but the first one leaves room for {}", *declared, *there));
  }
  found_.first_chunk = at_ + there.value_or(declared.value_or(0)) * kOffsetSize;
  return count_anchors((found_.first_chunk - at_) / kOffsetSize);
}

Result<void> ChunkFinder::count_anchors(std::uint64_t offsets) {
  if (offsets > kMostOffsets) {
    use_sequential_order(found_.first_chunk);
    return {};
  }
  const Offsets all(source_, at_, offsets);
  ASSIGN_OR_RETURN(const auto agrees, count_agrees(all));
  ASSIGN_OR_RETURN(const auto count, agrees ? Result<std::uint64_t>(static_cast<std::uint64_t>(found_.header.chunks))
                                            : all.ascending(found_.first_chunk));
  if (!agrees) report_count(count, offsets);
  return trust_ascending(count, agrees);
}

Result<bool> ChunkFinder::count_agrees(const Offsets& all) const {
  if (found_.header.chunks < 1 || static_cast<std::uint64_t>(found_.header.chunks) > all.count()) return false;
  const auto count = static_cast<std::uint64_t>(found_.header.chunks);
  ASSIGN_OR_RETURN(const auto last, all.at(count - 1));
  if (last == kUnset || count == all.count()) return last != kUnset;
  ASSIGN_OR_RETURN(const auto after, all.at(count));
  return after == kUnset;
}

void ChunkFinder::report_count(std::uint64_t count, std::uint64_t offsets) {
  if (found_.header.chunks == kUnknown) return;
  const auto declared = static_cast<std::uint64_t>(found_.header.chunks);
  const auto lost = found_.header.chunks > 0 && declared > count && declared <= offsets
                        ? std::optional(declared - count)
                        : std::nullopt;
  if (!found_.damage.empty() && found_.damage.back().begin == kChunksField) found_.damage.pop_back();
  found_.report(
      kChunksField, kChunksField + 8, DamageClass::kDamage, lost,
      fmt::format("the header counts {}, but the offsets point to {}", found_.header.chunks, counted(count, "chunk")));
}

Result<void> ChunkFinder::trust_ascending(std::uint64_t count, bool rest_is_slack) {
  const Offsets all(source_, at_, count);
  ASSIGN_OR_RETURN(auto run, all.ascending(found_.first_chunk));
  ASSIGN_OR_RETURN(const auto first, count > 0 ? all.at(0) : Result<std::uint64_t>(found_.first_chunk));
  if (first != found_.first_chunk) run = 0;
  found_.count = count;
  if (run < count) {
    found_.order = Order::kChain;
    found_.rest_is_slack = rest_is_slack;
    found_.report(all.place_of(run), all.place_of(run + 1), DamageClass::kDamage, 0,
                  "the offsets do not ascend from here on and are ignored");
    return {};
  }
  return use_anchors(all);
}

Result<void> ChunkFinder::use_anchors(const Offsets& all) {
  ASSIGN_OR_RETURN(const auto there, all.first_above(source_.size() - 1));
  found_.order = Order::kAnchored;
  found_.offsets = there;
  if (all.count() > 0 && found_.first_chunk >= source_.size()) {
    found_.order = Order::kNone;
    found_.report(all.place_of(0), all.place_of(all.count()), DamageClass::kUnfinished, all.count(),
                  "the file ends before its first chunk");
  }
  return {};
}

Result<void> ChunkFinder::find_items() {
  ASSIGN_OR_RETURN(const auto there, offsets_of_items());
  if (there == kMostOffsets) {
    found_.refuse(Code::kLimit, at_, fmt::format("more than {} item offsets", kMostOffsets));
    return {};
  }
  const Offsets all(source_, at_, there);
  ASSIGN_OR_RETURN(const auto written, all.without_trailing_unset());
  const bool knows = found_.header.chunks >= 0;
  const auto declared = knows ? static_cast<std::uint64_t>(found_.header.chunks) : written;
  const bool is_missing = !knows && found_.header.chunks != kUnknown;
  if (is_missing || declared > there || written > declared) {
    found_.report(kChunksField, kChunksField + 8, DamageClass::kDamage, std::nullopt,
                  fmt::format("the header counts {} items, but {} have an offset", found_.header.chunks, written));
  } else {
    found_.report(all.place_of(written), all.place_of(declared), DamageClass::kUnfinished, declared - written,
                  "no offset: these items were never finished");
  }
  found_.first_chunk = all.place_of(there);
  found_.gaps_are_slack = true;
  found_.count = written;
  found_.offsets = written;
  return order_items(Offsets(source_, at_, written));
}

Result<void> ChunkFinder::order_items(const Offsets& all) {
  ASSIGN_OR_RETURN(const auto run, all.ascending(found_.first_chunk));
  found_.order = Order::kItems;
  if (run < all.count()) return {};
  ASSIGN_OR_RETURN(const auto there, all.first_above(source_.size() - 1));
  if (there == all.count()) found_.order = Order::kAnchored;
  return {};
}

Result<std::vector<bool>> ChunkFinder::marked_beginnings() const {
  std::vector<bool> marks(static_cast<std::size_t>(room_ + 1), true);
  TRY(Offsets(source_, at_, room_).each([&](std::uint64_t index, std::uint64_t offset) {
    marks[static_cast<std::size_t>(index)] = may_begin_blosc(offset);
    return true;
  }));
  return marks;
}

Result<std::uint64_t> ChunkFinder::offsets_of_items() const {
  const Offsets all(source_, at_, room_);
  std::int64_t declared = found_.header.chunks;
  if (declared == 0 && room_ > 0) {
    ASSIGN_OR_RETURN(const auto first, all.at(0));
    ASSIGN_OR_RETURN(const auto before, offsets_before(first));
    if (before) declared = kUnknown;
  }
  // Most possible chunks among the offsets are ruled out by the offsets' own bytes, in one pass. That pass is made
  // only when needed, since in a valid file its reads are wasted.
  std::vector<bool> may_begin;
  std::uint64_t limit = declared < 0 ? room_ : std::min(room_, static_cast<std::uint64_t>(declared));
  std::uint64_t least = kUnset;
  std::optional<Error> failure;
  const auto see = [&](std::uint64_t index, std::uint64_t offset) {
    if (index >= limit) return false;
    if (offset >= least || offset <= at_ || (offset - at_) / kOffsetSize > room_) return true;
    if ((offset - at_) % kOffsetSize != 0) return true;
    const auto place = static_cast<std::size_t>((offset - at_) / kOffsetSize);
    if (!may_begin.empty() && !may_begin[place]) return true;
    auto before = offsets_before(offset);
    if (before && !*before && may_begin.empty()) {
      auto marked = marked_beginnings();
      if (marked) {
        may_begin = std::move(*marked);
      } else {
        before = std::move(marked).error();
      }
    }
    if (!before) failure = before.error();
    if (before && !*before) may_begin[place] = false;
    if (!before || !*before || **before <= index) return before.has_value();
    least = offset;
    limit = std::min(limit, **before);
    return true;
  };
  TRY(all.each(see));
  if (failure) return std::move(*failure);
  if (declared < 0 || least == kUnset || (least - at_) / kOffsetSize <= limit) return limit;
  // If the value after the counted offsets points to an item, there are more than the header counts. Otherwise the
  // first item begins there, and its header is broken.
  ASSIGN_OR_RETURN(const auto after, all.at(limit));
  ASSIGN_OR_RETURN(const auto leads, is_chunk(after));
  return leads ? (least - at_) / kOffsetSize : limit;
}

}  // namespace recordfs::bloscpack
