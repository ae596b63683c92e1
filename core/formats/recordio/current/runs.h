// Runs on and off the grid, and the search for the next run after damage. FORMAT.md, "Damage".
#pragma once

#include <cstdint>
#include <optional>

#include "core/formats/recordio/current/strays.h"

namespace recordfs::recordio {

// Finds runs. Used by one thread, for one call of the container.
class Runs {
 public:
  // REQUIRES: both outlive the object.
  Runs(const Source& source, RunLengths& lengths) : window_(source), grid_(window_, lengths), strays_(window_, grid_) {}

  Window& window() { return window_; }

  // Returns the run that begins at `at`. Fails as Source does.
  Result<std::optional<Run>> at(Position at);
  // Returns the run that covers byte `at`.
  Result<std::optional<Run>> covering(Position at);

  struct Found {
    std::optional<Run> run;
    Position reached = 0;  // no run begins before this position
  };
  // Finds the first run at or after `from`, reading about `budget` bytes.
  Result<Found> search(Position from, std::uint64_t budget);

 private:
  Result<std::optional<Run>> on_grid(Position slot);
  Result<std::optional<Run>> off_grid(Position at);
  Result<Position> end_on_grid(const Run& run);
  Result<std::optional<Run>> with_end(Result<std::optional<Run>> found);
  // Finds the first run off the grid that begins in [from, to).
  Result<std::optional<Run>> first_off_grid(Position from, Position to);

  Window window_;
  Grid grid_;
  Strays strays_;
};

}  // namespace recordfs::recordio
