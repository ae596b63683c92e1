// The words and options of grep.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dataset/listed_files.h"
#include "core/dataset/matched_records.h"
#include "core/decoding/descriptor_set.h"
#include "core/decoding/json_filter.h"
#include "core/search/record_matcher.h"
#include "core/store/json_line.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/where.h"

namespace CLI {
class App;
}

namespace recordfs {

// What grep prints of a selected record.
enum class Show : std::uint8_t { kRecords, kMatches, kOrdinals, kCounts, kNames, kNothing };

struct GrepOptions {
  ReadingOptions reading;
  std::vector<std::string> patterns;
  std::vector<std::string> pattern_files;  // with a pattern on each line (-f)
  std::vector<std::string> files;
  FileFilter filter;  // by their names
  std::string manifest;
  bool allows_missing = false;
  MatchRules rules;
  bool counts = false;
  bool names = false;
  bool names_without = false;  // of files without a match
  bool quiet = false;
  bool only_matches = false;
  bool ordinals = false;
  bool json = false;
  bool decoded = false;
  std::vector<std::string> field_names;     // of `field`
  std::shared_ptr<const FieldPaths> field;  // in the decoded record; null: all of it
  JsonLineOptions json_line;                // for `json`
  ConditionPointer condition{};             // on which records are searched
  UserTypes types;
  bool inverted = false;
  bool recursive = false;
  bool with_name = false;
  bool without_name = false;
  bool zero_after_name = false;
  bool zero_after_record = false;
  bool line_buffered = false;
  bool hides_unopened = false;  // prints no message about files that cannot be opened
  bool raw = false;             // the stored entries of a database, not its keys
  std::string color = "never";  // or always, or auto
  std::uint64_t most = UINT64_MAX;
  std::uint64_t before = 0;  // records that are shown around a selected one
  std::uint64_t after = 0;

  Show show() const {
    if (quiet) return Show::kNothing;
    if (names || names_without) return Show::kNames;
    if (counts) return Show::kCounts;
    if (ordinals) return Show::kOrdinals;
    return only_matches ? Show::kMatches : Show::kRecords;
  }
  // Declares the words and options on `app`. The object must outlive the parsing.
  void declare(CLI::App& app);

  // Returns whether a line is made from the JSON of a record.
  bool makes_lines() const { return json || (decoded && show() == Show::kRecords); }
  // Returns whether records are decoded, to search or to show them.
  bool decodes() const { return json || decoded || field != nullptr || condition != nullptr; }
  bool shows_names() const { return !without_name && (with_name || recursive || files.size() > 1); }
  bool has_context() const { return show() == Show::kRecords && (before > 0 || after > 0); }
  bool has_colors() const;
  // Returns what is searched in the records. `matcher` must outlive the result.
  MatchOptions search(const RecordMatcher& matcher) const;

 private:
  void declare_matching(CLI::App& app);
  void declare_output(CLI::App& app);
  void declare_decoding(CLI::App& app);
  void declare_files(CLI::App& app);
  void finish(const std::string* word);
};

}  // namespace recordfs
