// What is written down of samples: what comes of changes where something else comes of them than damage that is told,
// in exact places and with the reason. One text file for a format; README.md has its form.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/flips/change.h"

namespace recordfs::flips {

// An effect that is not kTold, at places [first, last].
struct Entry {
  Change change = Change::kFlip;
  Effect effect = Effect::kUnseen;
  std::string why;
  struct Range {
    Position first = 0;
    Position last = 0;
  };
  std::vector<Range> ranges;
};

struct Page {
  std::string sample;       // path below tests/corpus
  std::uint64_t costs = 0;  // records that are lost at the most to the flip of a byte in their own chunk
  std::vector<Entry> entries;

  // What is written down of a place.
  Effect effect(Change change, Position at) const;
  // Where what is written down of a change begins or ends to be so.
  std::vector<Position> borders(Change change) const;
  // Why; "?" where nobody has said.
  std::string why(Change change, Effect effect, Position at) const;
};

struct Ledger {
  std::string head;  // comment lines
  std::vector<Page> pages;
};

// Stop the program, with a line that says why, where the file is not there or not in its form.
Ledger read_ledger(const std::string& path);
void write_ledger(const std::string& path, const Ledger& ledger);

using Effects = std::map<Position, Effect>;

// The entries of what was found at places, with the words that `before` has for them.
std::vector<Entry> entries_of(Change change, const Effects& found, const Page& before);

}  // namespace recordfs::flips
