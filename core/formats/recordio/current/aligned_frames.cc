#include "core/formats/recordio/current/aligned_frames.h"

#include <algorithm>

namespace recordfs::recordio {
namespace {

// A run continues after at most this many consecutive frames with broken headers.
constexpr std::uint64_t kMostHeadless = 4;

}  // namespace

Run run_of(Position begin, const FrameHeader& first) {
  Run run;
  run.begin = begin;
  run.first = first;
  run.stored = first.size;
  run.last_size = first.size;
  return run;
}

void extend(Run& run, const FrameHeader& next) {
  for (; run.frames < next.index; ++run.frames) {
    run.headless.push_back(run.frames);
    run.stored += kLargestFragment;
  }
  ++run.frames;
  run.stored += next.size;
  run.last_size = next.size;
}

Result<AlignedFrames::Part> AlignedFrames::take_next(const RequestContext& context, Run& run, Position slot,
                                                     std::uint64_t index) {
  ASSIGN_OR_RETURN(const auto header, window_.header(context, slot));
  if (!header) return Part::kHeadless;
  if (header->continues(run.first, index)) {
    if (header->used() > window_.size() - slot) return Part::kOther;
    extend(run, *header);
    return Part::kNext;
  }
  ASSIGN_OR_RETURN(const auto sound, window_.sound_header(context, slot));
  return sound ? Part::kOther : Part::kHeadless;
}

Result<std::optional<Run>> AlignedFrames::run_at(const RequestContext& context, Position slot) {
  if (last_ && last_->begin == slot) return last_;
  ASSIGN_OR_RETURN(const auto first, window_.sound_header(context, slot));
  if (!first || first->index != 0) return std::optional<Run>{};
  Run run = run_of(slot, *first);
  std::uint64_t headless = 0;
  for (std::uint64_t i = 1; i < run.first.total && headless <= kMostHeadless; ++i) {
    const Position next = slot + i * kFrameSize;
    if (next >= window_.size()) break;
    ASSIGN_OR_RETURN(const auto part, take_next(context, run, next, i));
    if (part == Part::kOther) break;
    headless = part == Part::kNext ? 0 : headless + 1;
  }
  last_ = std::move(run);
  return last_;
}

Result<RunLengths::Length> AlignedFrames::length_at(const RequestContext& context, Position begin) {
  const std::pair key(window_.generation(), begin);
  if (auto known = lengths_.cache.find(key)) return *known;
  ASSIGN_OR_RETURN(const auto run, run_at(context, begin));
  return lengths_.cache.add(key, run ? RunLengths::Length{run->first, run->frames} : RunLengths::Length{});
}

Result<std::optional<Position>> AlignedFrames::begin_with(const RequestContext& context, Position slot,
                                                          const FrameHeader& header, std::uint64_t after) {
  const std::uint64_t before = header.index * kFrameSize;
  if (before > slot || header.index + after >= header.total) return std::optional<Position>{};
  ASSIGN_OR_RETURN(const auto length, length_at(context, slot - before));
  const bool is_part = header.index + after < length.frames && header.continues(length.first, header.index);
  return is_part ? std::optional(slot - before) : std::nullopt;
}

Result<std::optional<Position>> AlignedFrames::begin_over(const RequestContext& context, Position slot) {
  for (std::uint64_t back = 0; back <= kMostHeadless && back * kFrameSize <= slot; ++back) {
    const Position at = slot - back * kFrameSize;
    ASSIGN_OR_RETURN(const auto header, window_.header(context, at));
    if (!header) continue;
    auto begin = begin_with(context, at, *header, back);
    if (!begin || *begin) return begin;
    // A header with a wrong checksum may be a broken one inside a run.
    ASSIGN_OR_RETURN(const auto sound, window_.sound_header(context, at));
    if (sound) break;
  }
  return std::optional<Position>{};
}

Result<std::optional<Run>> AlignedFrames::run_over(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto begin, begin_over(context, slot));
  return begin ? run_at(context, *begin) : std::optional<Run>{};
}

Result<bool> AlignedFrames::is_in_run(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto begin, begin_over(context, slot));
  return begin.has_value();
}

}  // namespace recordfs::recordio
