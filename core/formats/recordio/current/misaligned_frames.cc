#include "core/formats/recordio/current/misaligned_frames.h"

#include <algorithm>

namespace recordfs::recordio {
namespace {

constexpr std::size_t kKeptSlots = 16;

Position slot_of(Position at) { return at - at % kFrameSize; }

template <class Map>
void keep(Map& map, Position slot, const typename Map::mapped_type& list) {
  if (map.size() >= kKeptSlots) map.clear();
  map[slot] = list;
}

}  // namespace

Result<Position> MisalignedFrames::held_until(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto header, window_.header(context, slot));
  if (header) {
    ASSIGN_OR_RETURN(const auto sound, window_.sound_header(context, slot));
    if (sound) return slot + sound->used();
  }
  ASSIGN_OR_RETURN(const auto in_run, aligned_.is_in_run(context, slot));
  if (!in_run) return slot;
  return slot + (header ? header->used() : kFrameSize);
}

Result<bool> MisalignedFrames::is_aligned(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto header, window_.header(context, slot));
  if (header) return true;
  return aligned_.is_in_run(context, slot);
}

Result<std::vector<MisalignedFrame>> MisalignedFrames::find_candidates(const RequestContext& context, Position slot) {
  std::vector<MisalignedFrame> found;
  ASSIGN_OR_RETURN(const auto barred, is_aligned(context, slot + kFrameSize));
  if (barred) return found;
  ASSIGN_OR_RETURN(const auto held, held_until(context, slot));
  ASSIGN_OR_RETURN(const auto bytes, window_.view(context, slot, kFrameSize + kFrameHeaderSize));
  std::vector<Position> magics;
  const auto first = std::max<std::size_t>(static_cast<std::size_t>(held - slot), 1);
  const std::size_t end = std::min<std::size_t>(bytes.size(), kFrameSize);
  for (std::size_t i = find_magic(bytes, first); i < end; i = find_magic(bytes, i + 1)) {
    if (window_.size() - slot - i >= kFrameSize) magics.push_back(slot + i);
  }
  for (const Position begin : magics) {
    ASSIGN_OR_RETURN(const auto header, window_.sound_header(context, begin));
    if (header) found.push_back({begin, *header});
  }
  return found;
}

Result<MisalignedFrames::List> MisalignedFrames::candidates(const RequestContext& context, Position slot) {
  if (const auto known = candidates_.find(slot); known != candidates_.end()) return known->second;
  ASSIGN_OR_RETURN(auto found, find_candidates(context, slot));
  List list = std::make_shared<const std::vector<MisalignedFrame>>(std::move(found));
  keep(candidates_, slot, list);
  return list;
}

Result<MisalignedFrames::List> MisalignedFrames::frames(const RequestContext& context, Position slot) {
  if (const auto known = frames_.find(slot); known != frames_.end()) return known->second;
  ASSIGN_OR_RETURN(const auto here, candidates(context, slot));
  auto found = std::make_shared<std::vector<MisalignedFrame>>();
  if (!here->empty()) {
    Position covered = 0;
    if (slot > 0) {
      ASSIGN_OR_RETURN(const auto before, candidates(context, slot - kFrameSize));
      for (const MisalignedFrame& stray : *before) covered = std::max(covered, stray.used_end());
    }
    for (const MisalignedFrame& stray : *here) {
      if (stray.begin >= covered) found->push_back(stray);
      covered = std::max(covered, stray.used_end());
    }
  }
  List list = std::move(found);
  keep(frames_, slot, list);
  return list;
}

Result<std::optional<MisalignedFrame>> MisalignedFrames::at(const RequestContext& context, Position at) {
  return first_in(context, at, at + 1);
}

Result<std::optional<MisalignedFrame>> MisalignedFrames::first_in(const RequestContext& context, Position from,
                                                                  Position to) {
  for (Position slot = slot_of(from); slot < std::min(to, window_.size()); slot += kFrameSize) {
    ASSIGN_OR_RETURN(const auto list, frames(context, slot));
    const auto first = std::ranges::lower_bound(*list, from, {}, &MisalignedFrame::begin);
    if (first != list->end()) return first->begin < to ? std::optional(*first) : std::nullopt;
  }
  return std::optional<MisalignedFrame>{};
}

Result<std::optional<MisalignedFrame>> MisalignedFrames::last_in(const RequestContext& context, Position from,
                                                                 Position to) {
  std::optional<MisalignedFrame> last;
  for (Position slot = slot_of(from); slot < std::min(to, window_.size()); slot += kFrameSize) {
    ASSIGN_OR_RETURN(const auto list, frames(context, slot));
    const auto after = std::ranges::lower_bound(*list, to, {}, &MisalignedFrame::begin);
    if (after != list->begin() && std::prev(after)->begin >= from) last = *std::prev(after);
  }
  return last;
}

}  // namespace recordfs::recordio
