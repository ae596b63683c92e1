// What is written down of samples: what comes of changes where something else comes of them than damage that is told,
// in exact places and with the reason. One text file for a format; README.md has its form.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/flips/change.h"

namespace recordfs::flips {

// The version of each codec library in this program, by the names of codec_versions().
using Versions = std::map<std::string, std::string, std::less<>>;
Versions versions_at_hand();

// A newer version of a library reports damage that an older one misses. The entry holds up to `last`; from `told_from`
// on its places are kTold. Nobody has tried the versions in between.
struct Until {
  std::string library;
  std::string last;
  std::string told_from;
  bool operator==(const Until&) const = default;
};

// The effects that a place may have: one, or two if the ledger does not cover the version of a library.
struct Due {
  Effect mildest = Effect::kTold;
  Effect worst = Effect::kTold;
  bool allows(Effect effect) const { return effect == mildest || effect == worst; }
};

// An effect that is not kTold, at places [first, last].
struct Entry {
  Change change = Change::kFlip;
  Effect effect = Effect::kUnseen;
  std::string why;
  std::optional<Until> until;  // nullopt: with every version
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

  // The entry of a place; null: it is kTold.
  const Entry* entry(Change change, Position at) const;
  // What is written down of a place for these versions.
  Due due(Change change, Position at, const Versions& versions) const;
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

// The entries of what was found at places, with the words that `before` has for them. Keeps an entry for older versions
// if what was found is right for these versions.
std::vector<Entry> entries_of(Change change, const Effects& found, const Page& before, const Versions& versions);

}  // namespace recordfs::flips
