#include "fusefs/commands/grep_options.h"

#include <CLI/CLI.hpp>

#include "fusefs/commands/command.h"
#include "fusefs/commands/record_text.h"
#include "fusefs/commands/record_words.h"

namespace recordfs {
namespace {

void declare_decoding(CLI::App& app, GrepOptions& options) {
  app.add_flag("--ordinals", options.ordinals,
               "print only the ordinals of selected records\n"
               "They are ranges of `cat`.");
  app.add_flag(
      "--json", options.json,
      "print a line of JSON for each record, as cat --json, with file and matches\n"
      "`matches` is a list of what matched, as `text` (`base64` if it is not UTF-8), with its `begin` and `end` in "
      "the bytes of the record. It is absent with `-v`, and has no positions with `--decoded`.");
  app.add_flag(
      "--decoded", options.decoded,
      "search the decoded content of records, as JSON, and print that\n"
      "The JSON is that of `records/N.json` in a mount, on one line. A record without decoded content does not "
      "match.");
  app.add_option_function<std::string>(
         "--field",
         [&options](const std::string& path) {
           options.field = path;
           options.decoded = true;
         },
         "search only the field at this path of the decoded content; implies --decoded\n"
         "A path is names joined by dots, `user.name`. It goes through lists to each element. Strings are searched "
         "without quotes and escapes; of several values, each is a line.")
      ->type_name("PATH");
  declare_types(
      app, options.types, [&options] { return options.decoded || options.json; }, "--decoded and --json");
  app.final_callback([&options] {
    const int ways = (options.counts ? 1 : 0) + (options.names ? 1 : 0) + (options.only_matches ? 1 : 0) +
                     (options.ordinals ? 1 : 0) + (options.json ? 1 : 0);
    if (ways > 1 && (options.json || options.ordinals)) {
      throw CLI::ValidationError("only one of --json, --ordinals, -c, -l and -o can be given");
    }
  });
}

}  // namespace

void GrepOptions::declare(CLI::App& app) {
  app.set_help_flag("--help", "print this help");  // -h is an option of grep
  app.footer(
      "Prints ORDINAL:RECORD and a newline, or FILE:ORDINAL:RECORD for several files. PATTERN uses the syntax of RE2: "
      "mostly that of grep -E, plus \\d, \\b, (?i) and lazy repetition. A record is one text, as with grep -z: . "
      "matches any character including a newline (not with (?-s)), and ^ and $ match at the ends of each line. "
      "Characters are UTF-8; a record that is not UTF-8 is also searched byte by byte.\n"
      "The directory of a database is searched key by key: KEY, a tab and VALUE are printed if the key or its value "
      "matches, with the name of the column family before them if there are several. Keys are escaped as `keys` prints "
      "them. -r and the names of files search stored entries, as --raw does.\n"
      "A data set ('NAME-*', NAME@128.EXT, a directory without -r) counts as one FILE: ordinals and -c are of all its "
      "shards, and -l prints the shards that match.\n"
      "Exit status: 0 a record was selected, 1 none was, 2 an error or damage (0 with -q and a match).");
  app.add_option("PATTERN", pattern, "the pattern")->required()->type_name("");
  app.add_option("FILE", files, "containers, - for standard input, or what names a data set")->type_name("");
  begin_group(app, "What matches");
  app.add_option("-e,--regexp", patterns, "use this pattern; all other words are files; may be repeated")
      ->type_name("PATTERN")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("-i,--ignore-case", rules.ignores_case, "ignore case");
  app.add_flag("-v,--invert-match", inverted, "select the records that do not match");
  app.add_flag("-F,--fixed-strings", rules.is_literal, "PATTERN is plain text");
  app.add_flag("-E,--extended-regexp", extended, "PATTERN is a regular expression (default)");
  begin_group(app, "Output");
  app.add_flag("-c,--count", counts, "print the number of matching records of each file");
  app.add_flag("-l,--files-with-matches", names, "print only the names of files with a match");
  app.add_flag("-o,--only-matching", only_matches, "print each match separately");
  app.add_flag("-q,--quiet", quiet, "print nothing, and exit at the first match");
  app.add_option_function<std::string>(
         "-m,--max-count",
         [this](const std::string& text) {
           most = text == "-1" ? UINT64_MAX : amount_of("--max-count", text);  // -1: all, as for grep(1)
         },
         "continue with the next file after N records\n"
         "-1 means all records.")
      ->type_name("N");
  app.add_flag("-H,--with-filename", with_name, "print the file name with each record");
  app.add_flag("-h,--no-filename", without_name, "print no file names");
  app.add_flag("-Z,--null", zero_after_name, "print a NUL byte after each file name");
  app.add_flag("--raw", raw,
               "search the entries of a database's logs and tables as they are stored, also old and deleted ones");
  declare_decoding(app, *this);
  begin_group(app, "Data sets");
  app.add_flag("-r,--recursive", recursive, "search all containers below directories");
  declare_manifest(app, manifest);
  declare_allow_missing(app, allows_missing);
  begin_group(app, "Databases");
  reading.declare_database(app);
  reading.declare(app);
}

}  // namespace recordfs
