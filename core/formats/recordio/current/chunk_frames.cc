#include "core/formats/recordio/current/chunk_frames.h"

#include <algorithm>

namespace recordfs::recordio {
namespace {

// Returns whether the frame of `header`, `distance` bytes after the start of `run`, belongs to that run.
bool is_part(const Run& run, const FrameHeader& header, std::uint64_t distance) {
  return distance == header.index * kFrameSize && header.index < run.frames &&
         header.continues(run.first, header.index);
}

}  // namespace

Result<std::optional<Run>> ChunkFrames::at(const RequestContext& context, Position at) {
  return at % kFrameSize == 0 ? aligned_run(context, at) : misaligned_run(context, at);
}

Result<std::optional<Run>> ChunkFrames::aligned_run(const RequestContext& context, Position slot) {
  return with_end(context, aligned_.run_at(context, slot));
}

Result<std::optional<Run>> ChunkFrames::with_end(const RequestContext& context, Result<std::optional<Run>> found) {
  if (!found) return std::move(found).error();
  if (!*found) return std::optional<Run>{};
  Run run = std::move(**found);
  ASSIGN_OR_RETURN(const auto end, aligned_end(context, run));
  run.end = end;
  return std::optional(std::move(run));
}

Result<Position> ChunkFrames::aligned_end(const RequestContext& context, const Run& run) {
  const Position due = run.begin + run.frames * kFrameSize;
  if (due >= window_.size()) return window_.size();
  ASSIGN_OR_RETURN(const auto next, window_.header(context, due));
  if (next) return due;
  // If bytes of the padding were deleted, the next frame begins inside the place of the padding.
  ASSIGN_OR_RETURN(const auto stray, misaligned_.first_in(context, run.last_used_end(), due));
  return stray ? stray->begin : due;
}

Result<std::optional<Run>> ChunkFrames::misaligned_run(const RequestContext& context, Position at) {
  ASSIGN_OR_RETURN(const auto first, misaligned_.at(context, at));
  if (!first || first->header.index != 0) return std::optional<Run>{};
  Run run = run_of(at, first->header);
  for (;;) {
    const Position due = run.begin + run.frames * kFrameSize;
    ASSIGN_OR_RETURN(const auto intruder, misaligned_.first_in(context, run.last_used_end(), due));
    run.end = intruder ? intruder->begin : due;
    if (intruder || run.is_whole()) break;
    ASSIGN_OR_RETURN(const auto next, misaligned_.at(context, due));
    if (!next || !next->header.continues(run.first, run.frames)) break;
    extend(run, next->header);
  }
  return std::optional(run);
}

Result<std::optional<Run>> ChunkFrames::covering(const RequestContext& context, Position at) {
  const Position slot = at - at % kFrameSize;
  ASSIGN_OR_RETURN(auto over, with_end(context, aligned_.run_over(context, slot)));
  if (over && at < over->end) return over;
  ASSIGN_OR_RETURN(const auto stray, misaligned_.last_in(context, at - std::min(at, kFrameSize - 1), at + 1));
  if (!stray || stray->header.index * kFrameSize > stray->begin) return std::optional<Run>{};
  ASSIGN_OR_RETURN(auto found, misaligned_run(context, stray->begin - stray->header.index * kFrameSize));
  if (!found || !is_part(*found, stray->header, stray->begin - found->begin) || at >= found->end) {
    return std::optional<Run>{};
  }
  return found;
}

Result<std::optional<Run>> ChunkFrames::first_misaligned(const RequestContext& context, Position from, Position to) {
  while (from < to) {
    ASSIGN_OR_RETURN(const auto stray, misaligned_.first_in(context, from, to));
    if (!stray) break;
    if (stray->header.index == 0) return misaligned_run(context, stray->begin);
    from = stray->begin + 1;
  }
  return std::optional<Run>{};
}

Result<ChunkFrames::FoundRun> ChunkFrames::search(const RequestContext& context, Position from, std::uint64_t budget) {
  for (Position at = from; at < window_.size();) {
    const Position slot = at - at % kFrameSize;
    auto run = at == slot ? aligned_run(context, slot) : Result<std::optional<Run>>(std::nullopt);
    if (run && !*run) run = first_misaligned(context, at, slot + kFrameSize);
    if (!run) return std::move(run).error();
    if (*run) return FoundRun{*run, (*run)->begin};
    ASSIGN_OR_RETURN(const auto data, window_.data_after_hole(context, slot));
    at = std::min(std::max(slot + kFrameSize, data - data % kFrameSize), window_.size());
    if (at - from + window_.checked() >= budget) return FoundRun{std::nullopt, at};
  }
  return FoundRun{std::nullopt, window_.size()};
}

}  // namespace recordfs::recordio
