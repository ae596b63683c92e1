// Frames that are not at a multiple of their size, because bytes were inserted or deleted. FORMAT.md, "Damage", has
// the rules. Each answer depends only on the bytes around a position, never on where the scan came from.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/formats/recordio/current/aligned_frames.h"

namespace recordfs::recordio {

struct MisalignedFrame {
  Position begin = 0;
  FrameHeader header;

  Position used_end() const { return begin + header.used(); }
};

// Finds misaligned frames. One thread. Caches the results of a few slots, so that one call examines each position once.
class MisalignedFrames {
 public:
  // REQUIRES: both outlive the object.
  MisalignedFrames(Window& window, AlignedFrames& aligned) : window_(window), aligned_(aligned) {}

  // Returns the end of the aligned frame at the multiple `slot`, if that frame is valid or part of a run. Returns
  // `slot` otherwise. Fails as Source does.
  Result<Position> held_until(const RequestContext& context, Position slot);

  // Returns the misaligned frame that begins at `at`.
  Result<std::optional<MisalignedFrame>> at(const RequestContext& context, Position at);
  // Return the first and the last misaligned frame that begin in [from, to).
  Result<std::optional<MisalignedFrame>> first_in(const RequestContext& context, Position from, Position to);
  Result<std::optional<MisalignedFrame>> last_in(const RequestContext& context, Position from, Position to);

 private:
  using List = std::shared_ptr<const std::vector<MisalignedFrame>>;

  // Returns whether the frame header at `slot` parses or `slot` is inside a run.
  Result<bool> is_aligned(const RequestContext& context, Position slot);
  // candidates() returns the valid frames in this slot that do not overlap an aligned frame, in order. frames()
  // returns those of them that are not inside another candidate's fragment.
  Result<List> candidates(const RequestContext& context, Position slot);
  Result<List> frames(const RequestContext& context, Position slot);
  Result<std::vector<MisalignedFrame>> find_candidates(const RequestContext& context, Position slot);

  Window& window_;
  AlignedFrames& aligned_;
  std::map<Position, List> candidates_;
  std::map<Position, List> frames_;
};

}  // namespace recordfs::recordio
