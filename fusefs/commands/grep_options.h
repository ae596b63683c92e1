// The words and options of grep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/decoding/descriptor_set.h"
#include "core/search/record_matcher.h"
#include "fusefs/commands/command_context.h"

namespace CLI {
class App;
}

namespace recordfs {

// What grep prints of a selected record.
enum class Show : std::uint8_t { kRecords, kMatches, kOrdinals, kCounts, kNames, kNothing };

struct GrepOptions {
  ReadingOptions reading;
  std::string pattern;
  std::vector<std::string> patterns;
  std::vector<std::string> files;
  std::string manifest;
  bool allows_missing = false;
  MatchRules rules;
  bool counts = false;
  bool names = false;
  bool quiet = false;
  bool only_matches = false;
  bool ordinals = false;
  bool json = false;
  bool decoded = false;
  std::string field;  // a path in the decoded record; empty: all of it
  UserTypes types;
  bool inverted = false;
  bool recursive = false;
  bool with_name = false;
  bool without_name = false;
  bool zero_after_name = false;
  bool extended = false;
  bool raw = false;  // the stored entries of a database, not its keys
  std::uint64_t most = UINT64_MAX;

  Show show() const {
    if (quiet) return Show::kNothing;
    if (names) return Show::kNames;
    if (counts) return Show::kCounts;
    if (ordinals) return Show::kOrdinals;
    return only_matches ? Show::kMatches : Show::kRecords;
  }
  // Declares the words and options on `app`. The object must outlive the parsing.
  void declare(CLI::App& app);

  // Returns whether a line is made from the JSON of a record.
  bool makes_lines() const { return json || (decoded && show() == Show::kRecords); }
  bool shows_names() const { return !without_name && (with_name || recursive || files.size() > 1); }
};

}  // namespace recordfs
