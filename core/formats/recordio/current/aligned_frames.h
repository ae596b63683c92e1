// Runs of frames at multiples of the frame size, where writers place them. FORMAT.md, "Chunk".
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/bounded_lru.h"
#include "core/formats/recordio/current/window.h"

namespace recordfs::recordio {

// The frames of one chunk that are present consecutively in the file. Only the first frame's checksum was verified;
// of the others only the header was read.
struct Run {
  Position begin = 0;
  FrameHeader first;
  std::uint64_t frames = 1;             // at most first.total
  std::uint64_t stored = 0;             // bytes of all fragments; a headless frame counts as full
  std::uint32_t last_size = 0;          // of the last fragment
  std::vector<std::uint64_t> headless;  // indexes of frames with a broken header between intact ones
  Position end = 0;                     // includes the padding

  bool is_whole() const { return frames == first.total; }
  Position last_used_end() const { return begin + (frames - 1) * kFrameSize + kFrameHeaderSize + last_size; }
};

// Returns the run that consists of the one frame `first`.
Run run_of(Position begin, const FrameHeader& first);
void extend(Run& run, const FrameHeader& next);

// Caches the lengths of runs that possibly broken headers point to. Many headers may point to a few long runs, and
// finding a run's length takes a scan of the whole run. Any thread; uses less than 1 MiB.
struct RunLengths {
  struct Length {
    FrameHeader first;
    std::uint64_t frames = 0;  // 0: no run begins there
  };

  BoundedLru<std::pair<std::uint64_t, Position>, Length> cache{4096};  // by the source's generation, and begin
};

// Finds aligned runs. Used by one thread, for one call of the container.
class AlignedFrames {
 public:
  // REQUIRES: both outlive the object.
  AlignedFrames(Window& window, RunLengths& lengths) : window_(window), lengths_(lengths) {}

  // Returns the run that begins at the multiple `slot`; its `end` is not set. Fails as Source does.
  Result<std::optional<Run>> run_at(const RequestContext& context, Position slot);
  // Returns the run that contains the frame at the multiple `slot`, even if that frame's header is broken.
  Result<std::optional<Run>> run_over(const RequestContext& context, Position slot);
  // Returns whether run_over() would find a run.
  Result<bool> is_in_run(const RequestContext& context, Position slot);

 private:
  // What is at the place of frame `index` of a run: that frame, no valid frame, or a frame of another chunk.
  enum class Part : std::uint8_t { kNext, kHeadless, kOther };
  Result<Part> take_next(const RequestContext& context, Run& run, Position slot, std::uint64_t index);
  // Returns where the run of the frame at `slot` begins, according to its header, if the run goes on for `after`
  // more frames.
  Result<std::optional<Position>> begin_with(const RequestContext& context, Position slot, const FrameHeader& header,
                                             std::uint64_t after);
  Result<std::optional<Position>> begin_over(const RequestContext& context, Position slot);
  Result<RunLengths::Length> length_at(const RequestContext& context, Position begin);

  Window& window_;
  RunLengths& lengths_;
  std::optional<Run> last_;  // the result of the last call; most calls repeat it
};

}  // namespace recordfs::recordio
