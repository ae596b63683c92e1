// The ledger: lists for each sample the exact places where a change has another effect than reported damage, and why.
// Each format has one text file; README.md describes its syntax.
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

// Returns the version of each codec library in this program, by its name in codec_versions().
using Versions = std::map<std::string, std::string, std::less<>>;
Versions linked_versions();

// A newer version of a library reports damage that an older one misses. The entry applies up to `last`. From
// `reported_from`, its places are kReported. The versions in between are untested.
struct Until {
  std::string codec_library;
  std::string last;
  std::string reported_from;
  bool operator==(const Until&) const = default;
};

// The allowed effects of a place: one, or two if the version of a library is untested.
struct Expected {
  Effect mildest = Effect::kReported;
  Effect worst = Effect::kReported;
  bool allows(Effect effect) const { return effect == mildest || effect == worst; }
};

// An effect other than kReported, at the places [first, last].
struct Entry {
  Change change = Change::kFlip;
  Effect effect = Effect::kUnseen;
  std::string why;
  std::optional<Until> until;  // nullopt: applies to every version
  struct Range {
    Position first = 0;
    Position last = 0;
  };
  std::vector<Range> ranges;
};

struct Page {
  std::string sample;       // path below tests/corpus
  std::uint64_t costs = 0;  // maximum number of records lost to one flipped byte in their chunk
  std::vector<Entry> entries;

  // Returns the entry of a place, or null if it is kReported.
  const Entry* entry(Change change, Position at) const;
  // Returns the allowed effects of a place with these versions.
  Expected expected(Change change, Position at, const Versions& versions) const;
  // Returns the begins and ends of all ranges for a change.
  std::vector<Position> borders(Change change) const;
  // Returns the reason, or "?" if there is none.
  std::string why(Change change, Effect effect, Position at) const;
};

struct Ledger {
  std::string head;  // comment lines
  std::vector<Page> pages;
};

// Exit with an error message if the file is missing or invalid.
Ledger read_ledger(const std::string& path);
void write_ledger(const std::string& path, const Ledger& ledger);

using Effects = std::map<Position, Effect>;

// Returns the entries for the effects found, with the reasons from `before`. Keeps an entry for older versions if the
// effects found are allowed with these versions.
std::vector<Entry> entries_of(Change change, const Effects& found, const Page& before, const Versions& versions);

}  // namespace recordfs::flips
