#include "fusefs/commands/grep_options.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/dataset/pipe_input.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/input_lines.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"

namespace recordfs {
namespace {

// Appends the lines of a text: each is a pattern.
void append_lines(std::vector<std::string>& patterns, std::string_view text) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    patterns.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
}

// Appends the lines of a file; "-" is standard input.
void append_file(std::vector<std::string>& patterns, const std::string& path) {
  auto lines = read_lines(path, '\n');
  if (!lines) throw CLI::ValidationError("--file", fmt::format("cannot read {}: {}", path, lines.error().detail));
  std::ranges::move(*lines, std::back_inserter(patterns));
}

// Declares the other options of grep(1): those that make no difference, and those that are refused, so that the message
// says what takes their place.
void declare_others(CLI::App& app) {
  app.add_flag("-U,--binary")->group("");
  app.add_option_function<std::string>("--binary-files",
                                       [](const std::string& type) {
                                         if (type != "text")
                                           throw CLI::ValidationError("--binary-files",
                                                                      "only text: all records are searched as text");
                                       })
      ->group("");
  const auto refuse = [&app](const std::string& name, const std::string& why) {
    app.add_flag_callback(name, [why] { throw CLI::ValidationError(why); })->group("");
  };
  const auto refuse_with_value = [&app](const std::string& name, const std::string& why) {
    app.add_option_function<std::string>(name, [why](const std::string&) { throw CLI::ValidationError(why); })
        ->group("");
  };
  refuse("-R,--dereference-recursive", "-R is not supported: links below directories are not followed (try: -r)");
  refuse("-I", "-I is not supported: all records are searched as text");
  refuse("-T,--initial-tab", "-T is not supported (try: --json)");
  refuse("--no-ignore-case", "--no-ignore-case is not supported (try: without -i)");
  refuse_with_value("--label", "--label is not supported: standard input is named -");
  refuse_with_value("--exclude-from", "--exclude-from is not supported (try: --exclude, which may be repeated)");
  refuse("--no-group-separator", "--no-group-separator is not supported (try: --json)");
  refuse_with_value("--group-separator", "--group-separator is not supported: a line -- separates groups");
  refuse_with_value("-d,--directories", "-d is not supported: a directory is a data set (try: -r)");
  refuse_with_value("-D,--devices", "-D is not supported (try: --exclude)");
  refuse("-P,--perl-regexp", "-P is not supported: patterns are RE2's, with \\d, \\b, (?i) and lazy repetition");
  refuse("-G,--basic-regexp", "-G is not supported: patterns are RE2's, mostly those of -E");
  refuse("-b,--byte-offset", "-b is not supported (try: --json, which has begin and end of each match)");
}

}  // namespace

bool GrepOptions::has_colors() const {
  if (color != "auto") return color == "always";
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

MatchOptions GrepOptions::search(const RecordMatcher& matcher) const {
  const Show shown = show();
  const bool one_is_enough = shown == Show::kNames || shown == Show::kNothing;
  return {.matcher = matcher,
          .is_inverted = inverted,
          .wants_matches = shown == Show::kMatches || json || (shown == Show::kRecords && has_colors()),
          .wants_records = shown <= Show::kOrdinals,
          .wants_context = has_context(),
          .wants_lines = makes_lines(),
          .is_json = json,
          .is_decoded = decoded,
          .field_names = field_names,
          .field = field,
          .json = json_line,
          .condition = condition,
          .types = types,
          .most = one_is_enough ? std::min<std::uint64_t>(most, 1) : most,
          .largest_record = reading.limits.decoded_chunk};
}

void GrepOptions::declare_matching(CLI::App& app) {
  begin_group(app, "What matches");
  declare_list(app, "-e,--regexp", "PATTERN", patterns,
               "use this pattern; all other words are files; may be repeated\n"
               "Each line of a PATTERN is a pattern.");
  declare_list(app, "-f,--file", "F", pattern_files,
               "use the patterns in F, one a line; all other words are files; - is standard input\n"
               "An empty F has no pattern, and matches nothing.");
  app.add_flag("-i,-y,--ignore-case", rules.ignores_case, "ignore case");
  app.add_flag("-v,--invert-match", inverted, "select the records that do not match");
  app.add_flag("-w,--word-regexp", rules.is_word,
               "match only whole words\n"
               "No letter, digit or underscore precedes or follows a match.");
  app.add_flag("-x,--line-regexp", rules.is_whole, "match only whole records");
  app.add_flag("-F,--fixed-strings", rules.is_literal, "PATTERN is plain text");
  app.add_flag("-E,--extended-regexp")->description("PATTERN is a regular expression (default)");
  declare_where(app, condition);
}

void GrepOptions::declare_output(CLI::App& app) {
  const auto number = [](std::uint64_t& of_before, std::uint64_t& of_after, const char* option) {
    return [&of_before, &of_after, option](const std::string& text) {
      of_before = amount_of(option, text);
      of_after = of_before;
    };
  };
  begin_group(app, "Output");
  app.add_flag("-c,--count", counts, "print the number of matching records of each file");
  app.add_flag("-l,--files-with-matches", names, "print only the names of files with a match");
  app.add_flag("-L,--files-without-match", names_without, "print only the names of files without a match");
  app.add_flag("-o,--only-matching", only_matches, "print each match separately");
  app.add_flag("-q,--quiet,--silent", quiet, "print nothing, and exit at the first match");
  app.add_flag("-s,--no-messages", hides_unopened, "print no message about files that cannot be opened");
  declare_value(
      app, "-m,--max-count", "N",
      [this](const std::string& text) {
        most = text == "-1" ? UINT64_MAX : amount_of("--max-count", text);  // -1: all, as for grep(1)
      },
      "continue with the next file after N records\n"
      "-1 means all records.")
      ->take_last();
  declare_value(app, "-C,--context", "N", number(before, after, "--context"),
                "print the N records before and after each selected one\n"
                "A line -- separates groups of records that do not follow each other. Context excludes `--json`, "
                "`--decoded` and `--field`.")
      ->take_last();
  declare_value(app, "-A,--after-context", "N", number(after, after, "--after-context"),
                "print the N records after each selected one, as ORDINAL-RECORD")
      ->take_last();
  declare_value(app, "-B,--before-context", "N", number(before, before, "--before-context"),
                "print the N records before each selected one")
      ->take_last();
  app.add_flag("-n,--line-number")->description("print ordinals, which count from 0 (default)");
  app.add_flag("-H,--with-filename", with_name, "print the file name with each record");
  app.add_flag("-h,--no-filename", without_name, "print no file names");
  app.add_flag("-Z,--null", zero_after_name, "print a NUL byte after each file name");
  app.add_flag("-z,--null-data", zero_after_record, "print a NUL byte after each record, instead of a newline");
  app.add_flag("-a,--text")->description("search records that are not text too (default)");
  app.add_flag(
      "--color{auto},--colour{auto}", color,
      "highlight matches on a terminal; --color=always does in pipes too\n"
      "The value is `always`, `never` or `auto`. What `--decoded` and `--field` print is not highlighted, except "
      "with `-o`.");
  app.add_flag("--line-buffered", line_buffered, "write records as soon as they are found");
  app.add_flag("--raw", raw,
               "search the entries of a database's logs and tables as they are stored, also old and deleted ones");
}

void GrepOptions::declare_decoding(CLI::App& app) {
  app.add_flag("--ordinals", ordinals,
               "print only the ordinals of selected records\n"
               "They are ranges of `cat`, which reads them with `-r -`.");
  auto* const json_flag = app.add_flag(
      "--json", json,
      "print a line of JSON for each record, as cat --json, with file and matches\n"
      "`matches` is a list of what matched, as `text` (`base64` if it is not UTF-8), with its `begin` and `end` in "
      "the bytes of the record. It is absent with `-v`, and has no positions with `--decoded`.");
  declare_json(app, json_line, json_flag);
  app.add_flag(
      "--decoded", decoded,
      "search the decoded content of records, as JSON, and print that\n"
      "The JSON is that of `records/N.json` in a mount, on one line. A record without decoded content does not "
      "match.");
  declare_value(
      app, "--field", "PATH",
      [this](const std::string& path) {
        if (path.empty()) throw CLI::ValidationError("--field", "no field is named");
        field_names = {path};
        field = std::make_shared<const FieldPaths>(field_names);
        decoded = true;
      },
      "search only the values of this field of the decoded content; implies --decoded\n"
      "PATH is names joined by dots, `user.name`, or the name of a feature of a tensorflow.Example. Each value is "
      "searched by itself: of a list each element, of a message each field. Strings are without quotes and escapes.");
  declare_types(
      app, types, [this] { return decoded || json || condition; }, "--decoded, --json and --where");
}

void GrepOptions::declare_files(CLI::App& app) {
  begin_group(app, "Files and data sets");
  app.add_flag("-r,--recursive", recursive, "search all containers below directories (default: .)");
  declare_list(app, "--include", "GLOB", filter.included,
               "search only files whose names match GLOB; may be repeated\n"
               "GLOB is a pattern of glob(7) for the name without directories. A data set is one file.");
  declare_list(app, "--exclude", "GLOB", filter.excluded, "leave out files whose names match GLOB; may be repeated");
  declare_list(app, "--exclude-dir", "GLOB", filter.excluded_directories,
               "leave out files in directories whose names match GLOB; may be repeated");
  declare_manifest(app, manifest);
  declare_allow_missing(app, allows_missing);
  begin_group(app, "Databases");
  reading.declare_database(app);
}

// Sorts the words, once all options are known. `word`: the first; null: there is none.
void GrepOptions::finish(const std::string* word) {
  const bool has_pattern = !patterns.empty() || !pattern_files.empty();
  if (!has_pattern && word == nullptr) throw CLI::RequiredError("PATTERN");
  std::vector<std::string> lines;
  for (const std::string& text : patterns) append_lines(lines, text);
  for (const std::string& path : pattern_files) append_file(lines, path);
  if (!has_pattern) append_lines(lines, *word);
  if (has_pattern && word != nullptr) files.insert(files.begin(), *word);
  const bool is_number = !has_pattern && word->size() > 1 && word->front() == '-' &&
                         word->find_first_not_of("0123456789", 1) == std::string::npos;
  if (is_number && (files.empty() || !names_file(files.front()))) {
    throw CLI::ValidationError(fmt::format("unknown option: {} (try: -C {}, or -e {})", *word, word->substr(1), *word));
  }
  patterns = std::move(lines);
  name_locations(files, manifest);
  const bool has_input = std::ranges::find(files, kStandardInput) != files.end() || (files.empty() && !recursive);
  if (has_input && manifest.empty() && std::ranges::find(pattern_files, kStandardInput) != pattern_files.end()) {
    throw CLI::ValidationError("--file", "standard input cannot have both patterns and records");
  }
  const int ways = (counts ? 1 : 0) + (names || names_without ? 1 : 0) + (only_matches ? 1 : 0) + (ordinals ? 1 : 0) +
                   (json ? 1 : 0);
  if (ways > 1 && (json || ordinals)) {
    throw CLI::ValidationError("only one of --json, --ordinals, -c, -l and -o can be given");
  }
  if (names && names_without) throw CLI::ValidationError("only one of -l and -L can be given");
  if (has_context() && makes_lines()) throw CLI::ValidationError("-A, -B and -C exclude --json, --decoded and --field");
  if (color != "always" && color != "never" && color != "auto") {
    throw CLI::ValidationError("--color", "not always, never or auto: " + color);
  }
}

void GrepOptions::declare(CLI::App& app) {
  app.set_help_flag("--help", "print this help");  // -h is an option of grep
  app.footer(
      "Prints ORDINAL:RECORD and a newline, or FILE:ORDINAL:RECORD for several files. Without FILE, searches standard "
      "input. PATTERN uses the syntax of RE2: "
      "mostly that of grep -E, plus \\d, \\b, (?i) and lazy repetition. A record is one text, as with grep -z: . "
      "matches any character including a newline (not with (?-s)), and ^ and $ match at the ends of each line. "
      "Characters are UTF-8; a record that is not UTF-8 is also searched byte by byte.\n"
      "The directory of a database is searched key by key: KEY, a tab and VALUE are printed if the key or its value "
      "matches, or another column of a wide-column entity, with the name of the column family before them if there are "
      "several. Keys are escaped as `keys` prints "
      "them. -r and the names of files search stored entries, as --raw does.\n"
      "A data set ('NAME-*', NAME@128.EXT, a directory without -r) counts as one FILE: ordinals and -c are of all its "
      "shards, and -l prints the shards that match.\n"
      "Exit status: 0 a record was selected, 1 none was, 2 an error or damage (0 with -q and a match).");
  const auto word = std::make_shared<std::string>();
  const auto* const first = app.add_option("PATTERN", *word, "the pattern; each line of it is one")->type_name("");
  app.add_option("FILE", files, "containers, - for standard input, or what names a data set")->type_name("");
  declare_matching(app);
  declare_output(app);
  declare_decoding(app);
  declare_files(app);
  reading.declare(app);
  declare_others(app);
  app.final_callback([this, word, first] { finish(first->count() > 0 ? word.get() : nullptr); });
}

}  // namespace recordfs
