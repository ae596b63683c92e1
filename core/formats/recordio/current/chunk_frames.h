// Aligned and misaligned runs, and the search for the next run after damage. FORMAT.md, "Damage".
#pragma once

#include <cstdint>
#include <optional>

#include "core/formats/recordio/current/misaligned_frames.h"

namespace recordfs::recordio {

// Finds runs. Used by one thread, for one call of the container.
class ChunkFrames {
 public:
  // REQUIRES: both outlive the object.
  ChunkFrames(const Source& source, RunLengths& lengths)
      : window_(source), aligned_(window_, lengths), misaligned_(window_, aligned_) {}

  Window& window() { return window_; }

  // Returns the run that begins at `at`. Fails as Source does.
  Result<std::optional<Run>> at(const RequestContext& context, Position at);
  // Returns the run that covers byte `at`.
  Result<std::optional<Run>> covering(const RequestContext& context, Position at);

  struct FoundRun {
    std::optional<Run> run;
    Position reached = 0;  // no run begins before this position
  };
  // Finds the first run at or after `from`, reading about `budget` bytes.
  Result<FoundRun> search(const RequestContext& context, Position from, std::uint64_t budget);

 private:
  Result<std::optional<Run>> aligned_run(const RequestContext& context, Position slot);
  Result<std::optional<Run>> misaligned_run(const RequestContext& context, Position at);
  Result<Position> aligned_end(const RequestContext& context, const Run& run);
  Result<std::optional<Run>> with_end(const RequestContext& context, Result<std::optional<Run>> found);
  // Finds the first misaligned run that begins in [from, to).
  Result<std::optional<Run>> first_misaligned(const RequestContext& context, Position from, Position to);

  Window window_;
  AlignedFrames aligned_;
  MisalignedFrames misaligned_;
};

}  // namespace recordfs::recordio
