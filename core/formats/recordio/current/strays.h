// Frames that do not stand at a multiple of their size: what an insertion or a cut has moved. FORMAT.md,
// "Strays", has the rules. Each answer depends on the bytes around a place alone, and never on how a walk came there.
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

// One thread. Keeps what it found for a few slots, so that no place is judged twice in one call.
class Strays {
 public:
  // REQUIRES: both outlive the object.
  Strays(Window& window, Grid& grid) : window_(window), grid_(grid) {}

  // Up to where from the multiple `slot` on a frame of the grid holds the file's bytes: one that is sound, or one of a
  // run. `slot` where none does. Fails as Source does.
  Result<Position> held_until(Position slot);

  // The stray that begins at `at`.
  Result<std::optional<Stray>> at(Position at);
  // The first that begins in [from, to), and the last.
  Result<std::optional<Stray>> first_in(Position from, Position to);
  Result<std::optional<Stray>> last_in(Position from, Position to);

 private:
  using List = std::shared_ptr<const std::vector<Stray>>;

  // Whether a frame of the grid begins at `slot`, or seems to.
  Result<bool> is_on_grid(Position slot);
  // Sound frames between two multiples that reach over no frame of the grid, in order; and those of them that do not
  // stand inside another one's fragment.
  Result<List> candidates(Position slot);
  Result<List> strays(Position slot);
  Result<std::vector<Stray>> find_candidates(Position slot);

  Window& window_;
  Grid& grid_;
  std::map<Position, List> candidates_;
  std::map<Position, List> strays_;
};

}  // namespace recordfs::recordio
