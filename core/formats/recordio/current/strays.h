// Frames that are not at a multiple of their size, because bytes were inserted or deleted. FORMAT.md, "Damage", has
// the rules. Each answer depends only on the bytes around a position, never on where the scan came from.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/formats/recordio/current/grid.h"

namespace recordfs::recordio {

struct Stray {
  Position begin = 0;
  FrameHeader header;

  Position used_end() const { return begin + header.used(); }
};

// Finds stray frames. One thread. Caches the results of a few slots, so that one call examines each position once.
class Strays {
 public:
  // REQUIRES: both outlive the object.
  Strays(Window& window, Grid& grid) : window_(window), grid_(grid) {}

  // Returns the end of the frame on the grid at the multiple `slot`, if that frame is valid or part of a run. Returns
  // `slot` otherwise. Fails as Source does.
  Result<Position> held_until(Position slot);

  // Returns the stray that begins at `at`.
  Result<std::optional<Stray>> at(Position at);
  // Return the first and the last stray that begin in [from, to).
  Result<std::optional<Stray>> first_in(Position from, Position to);
  Result<std::optional<Stray>> last_in(Position from, Position to);

 private:
  using List = std::shared_ptr<const std::vector<Stray>>;

  // Returns whether the frame header at `slot` parses or `slot` is inside a run.
  Result<bool> is_on_grid(Position slot);
  // candidates() returns the valid frames in this slot that do not overlap a frame of the grid, in order. strays()
  // returns those of them that are not inside another candidate's fragment.
  Result<List> candidates(Position slot);
  Result<List> strays(Position slot);
  Result<std::vector<Stray>> find_candidates(Position slot);

  Window& window_;
  Grid& grid_;
  std::map<Position, List> candidates_;
  std::map<Position, List> strays_;
};

}  // namespace recordfs::recordio
