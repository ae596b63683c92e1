// The words of a command that reads records: FILE... [RANGE...], and the options that go with a data set.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fusefs/commands/range.h"

namespace CLI {
class App;
}

namespace recordfs {

// Which words and options a command has.
enum class WordUse : std::uint8_t {
  kFiles,            // FILE...
  kFilesAndRanges,   // FILE... [RANGE...], -r
  kFilesRangeAndDir  // FILE... RANGE DIR, -r
};

struct RecordWords {
  std::vector<std::string> files{};  // name a data set, unless `manifest` does
  std::vector<Range> ranges{};
  std::string directory{};  // DIR
  std::string manifest{};
  bool allows_missing = false;   // reads the rest of a set with missing shards
  bool reports_missing = false;  // with allows_missing: the exit status is 4 all the same
  bool reads_ranges = false;     // further ranges from standard input, after `ranges`

  // Returns whether ranges are selected, which may be none; otherwise all records are.
  bool has_ranges() const { return reads_ranges || !ranges.empty(); }
};

// Returns whether a word is standard input, a path at which something is, or a data set's name.
bool names_file(const std::string& word);

// Declares the words and options on `app`, with a text for the ranges. `check` runs after a successful parsing, and may
// throw CLI::Error. `words` must outlive the parsing.
void declare_words(CLI::App& app, RecordWords& words, WordUse use,
                   const std::string& ranges_text = "which records (default: all)", std::function<void()> check = {});

// Declares FILE... for a command that takes each word as a data set of its own, and --manifest. One of them is
// required. `takes_input`: what the help says of standard input. The results must outlive the parsing.
void declare_sets(CLI::App& app, std::vector<std::string>& words, std::string& manifest, bool takes_input = true);

// Names files and a manifest, which may be empty, as messages do: see Location::text().
void name_locations(std::vector<std::string>& files, std::string& manifest);

// Declare --allow-missing, and --manifest. The result must outlive the parsing.
void declare_allow_missing(CLI::App& app, bool& allows_missing);
void declare_manifest(CLI::App& app, std::string& manifest);

}  // namespace recordfs
