#include "fusefs/commands/record_words.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/base/storage.h"
#include "core/dataset/pipe_input.h"
#include "core/dataset/shard_list.h"
#include "fusefs/commands/command.h"

namespace recordfs {
namespace {

Range range_of(const std::string& text) {
  const auto range = parse_range(text);
  if (!range) throw CLI::ValidationError("RANGE", not_a_range(text));
  return *range;
}

// The words as they were given.
struct GivenWords {
  std::vector<std::string> words;
  std::vector<std::string> ranges;  // of -r
};

// Returns whether a first word is meant to be a range from the end: -3.
bool is_misplaced(const std::string& word) {
  return word.size() > 1 && word.front() == '-' && parse_range(word) && !names_file(word);
}

// A word after the first is a range if it looks like one, whatever files there are.
void take(const std::string& word, bool may_be_range, RecordWords& words) {
  const auto range = may_be_range ? parse_range(word) : std::nullopt;
  if (range) {
    words.ranges.push_back(*range);
  } else if (may_be_range && !names_file(word)) {
    throw CLI::ValidationError("RANGE", not_a_range(word, ", and no such file"));
  } else {
    words.files.push_back(Location(word).text());
  }
}

// The last word is DIR.
void take_directory(GivenWords& given, RecordWords& words) {
  const std::size_t complete = 3 - (words.manifest.empty() ? 0u : 1u) - (given.ranges.empty() ? 0u : 1u);
  const bool is_incomplete = given.words.size() < complete;
  const bool is_only_file = given.words.size() == 1 && words.manifest.empty();
  if (given.words.empty() || is_only_file || (is_incomplete && parse_range(given.words.back()))) {
    throw CLI::RequiredError("DIR");
  }
  words.directory = std::move(given.words.back());
  given.words.pop_back();
}

void sort_words(GivenWords given, WordUse use, RecordWords& words) {
  const bool has_manifest = !words.manifest.empty();
  if (given.words.empty() && !has_manifest) throw CLI::RequiredError("FILE");
  if (has_manifest) words.manifest = Location(words.manifest).text();
  for (const std::string& word : given.ranges) {
    if (word == kStandardInput) {
      words.reads_ranges = true;
    } else {
      words.ranges.push_back(range_of(word));
    }
  }
  if (use == WordUse::kFilesRangeAndDir) take_directory(given, words);
  const bool may_be_ranges = use != WordUse::kFiles && given.ranges.empty();
  if (may_be_ranges && !has_manifest && !given.words.empty() && is_misplaced(given.words.front())) {
    throw CLI::ValidationError("RANGE", "follows FILE: " + given.words.front());
  }
  for (const std::string& word : given.words) {
    take(word, may_be_ranges && (has_manifest || !words.files.empty()), words);
  }
  if (has_manifest && !words.files.empty()) {
    throw CLI::ValidationError("--manifest", "excludes FILE: " + words.files.front());
  }
  if (words.files.empty() && !has_manifest) throw CLI::RequiredError("FILE");
  if (use == WordUse::kFilesRangeAndDir && !words.has_ranges()) throw CLI::RequiredError("RANGE");
  const bool reads_files =
      words.manifest == kStandardInput || std::ranges::find(words.files, kStandardInput) != words.files.end();
  if (words.reads_ranges && reads_files) {
    throw CLI::ValidationError("--range", "standard input cannot have both ranges and records");
  }
}

}  // namespace

// A URL is never a range, and opening it reports why there is no such file.
bool names_file(const std::string& word) {
  return word == kStandardInput || !Location(word).is_local() || status_of({}, word) || names_set(word);
}

void name_locations(std::vector<std::string>& files, std::string& manifest) {
  for (std::string& file : files) file = Location(file).text();
  if (!manifest.empty()) manifest = Location(manifest).text();
}

void declare_allow_missing(CLI::App& app, bool& allows_missing) {
  app.add_flag("--allow-missing", allows_missing,
               "continue without missing shards, which are named (exit status 0)\n"
               "They are named on standard error, and in the file of `--skipped`. Shards that cannot be opened are "
               "skipped too, but the exit status is 2. It is also 2 if no shard is present. Ordinals of later records "
               "count what was found.");
}

void declare_manifest(CLI::App& app, std::string& manifest) {
  declare_value(app, "--manifest", "F", manifest,
                "read the files of the data set from F, one path a line; - is standard input\n"
                "Paths are relative to the directory of F. Empty lines and lines that begin with `#` are skipped.");
}

void declare_sets(CLI::App& app, std::vector<std::string>& words, std::string& manifest, bool takes_input) {
  app.add_option("FILE", words,
                 takes_input ? "containers, - for standard input, or data sets: 'NAME-*', NAME@128.EXT, DIR"
                             : "containers, or data sets: 'NAME-*', NAME@128.EXT, DIR")
      ->type_name("");
  begin_group(app, "Data sets");
  declare_manifest(app, manifest);
  begin_group(app, "Options");
  app.final_callback([&words, &manifest] {
    if (words.empty() && manifest.empty()) throw CLI::RequiredError("FILE");
    name_locations(words, manifest);
  });
}

void declare_words(CLI::App& app, RecordWords& words, WordUse use, const std::string& ranges_text,
                   std::function<void()> check) {
  const auto given = std::make_shared<GivenWords>();
  app.add_option("FILE", given->words,
                 use == WordUse::kFiles
                     ? "containers, or a data set: 'NAME-*', NAME@128.EXT, DIR"
                     : "containers, - for standard input, or a data set: 'NAME-*', NAME@128.EXT, DIR")
      ->type_name("");
  if (use != WordUse::kFiles) {
    // For the help. All words go to the first argument, and are sorted later.
    app.add_option("RANGE", ranges_text)->type_name("");
    begin_group(app, "Which records");
    declare_list(app, "-r,--range", "RANGE", given->ranges,
                 "a range; - reads them from standard input; all words are files then\n"
                 "They are separated by white space. If there are none, no record is selected.");
  }
  if (use == WordUse::kFilesRangeAndDir)
    app.add_option("DIR", "a directory, which is created if it is missing")->type_name("");
  begin_group(app, "Data sets");
  declare_manifest(app, words.manifest);
  declare_allow_missing(app, words.allows_missing);
  app.final_callback([given, use, &words, check = std::move(check)] {
    sort_words(*given, use, words);
    if (check) check();
  });
}

}  // namespace recordfs
