// Runs of frames that make a chunk, at multiples of the frames' size, where a writer leaves them. FORMAT.md, "Chunk".
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/formats/recordio/current/window.h"

namespace recordfs::recordio {

// A chunk's frames, as far as they stand one behind the other in the file. The first one's checksum was
// verified, of the others the header alone.
struct Run {
  Position begin = 0;
  FrameHeader first;
  std::uint64_t frames = 1;             // at most first.total
  std::uint64_t stored = 0;             // bytes of all fragments, a headless frame's as those of a full one
  std::uint32_t last_size = 0;          // of the last fragment
  std::vector<std::uint64_t> headless;  // indexes of frames whose header is broken, between others
  Position end = 0;                     // padding included

  bool is_whole() const { return frames == first.total; }
  Position last_used_end() const { return begin + (frames - 1) * kFrameSize + kFrameHeaderSize + last_size; }
};

// The run of the one frame of `first`.
Run run_of(Position begin, const FrameHeader& first);
void extend(Run& run, const FrameHeader& next);

// How long the runs are to which headers have pointed that may be broken: many of them may point at few long runs, and
// a run is only known when all of it was looked at. Any thread; holds some hundred KiB at the most.
class RunLengths {
 public:
  struct Length {
    FrameHeader first;
    std::uint64_t frames = 0;  // 0: no run begins there
  };
  // `generation`: of the source, which all lengths are forgotten with.
  std::optional<Length> find(Position begin, std::uint64_t generation) const;
  void keep(Position begin, const Length& length, std::uint64_t generation);

 private:
  mutable std::mutex mutex_;
  std::map<Position, Length> lengths_;
  std::uint64_t generation_ = 0;
};

// One thread; lives as long as one call of the container.
class Grid {
 public:
  // REQUIRES: both outlive the object.
  Grid(Window& window, RunLengths& lengths) : window_(window), lengths_(lengths) {}

  // The run that begins at the multiple `slot`; its end is left out. Fails as Source does.
  Result<std::optional<Run>> run_at(Position slot);
  // The run to which the frame at the multiple `slot` belongs, whether its own header is broken or not.
  Result<std::optional<Run>> run_over(Position slot);
  // Whether there is one.
  Result<bool> is_in_run(Position slot);

 private:
  // What stands where frame `index` of a run is due: that frame, nothing sound, or a frame of something else.
  enum class Part : std::uint8_t { kNext, kHeadless, kOther };
  Result<Part> take_next(Run& run, Position slot, std::uint64_t index);
  // Where the run of the frame at `slot` begins, by its header, if it goes on for `behind` frames more.
  Result<std::optional<Position>> begin_with(Position slot, const FrameHeader& header, std::uint64_t behind);
  Result<std::optional<Position>> begin_over(Position slot);
  Result<RunLengths::Length> length_at(Position begin);

  Window& window_;
  RunLengths& lengths_;
  std::optional<Run> last_;  // that was asked for: mostly it is asked for again
};

}  // namespace recordfs::recordio
