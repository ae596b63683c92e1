#include "fusefs/commands/grep.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fusefs/commands/chunk_search.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/file_list.h"
#include "fusefs/commands/found_damage.h"
#include "fusefs/commands/matcher.h"
#include "fusefs/commands/output.h"
#include "fusefs/commands/scan.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kPiece = 1u << 20;  // bytes of a record per write

enum class Show : std::uint8_t { kRecords, kMatches, kCounts, kNames, kNothing };

struct GrepOptions {
  ReadingOptions reading;
  std::string pattern;
  std::vector<std::string> patterns;
  std::vector<std::string> files;
  MatchRules rules;
  bool counts = false;
  bool names = false;
  bool quiet = false;
  bool only_matches = false;
  bool inverted = false;
  bool recursive = false;
  bool with_name = false;
  bool without_name = false;
  bool zero_after_name = false;
  bool extended = false;
  std::uint64_t most = UINT64_MAX;

  Show show() const {
    if (quiet) return Show::kNothing;
    if (names) return Show::kNames;
    if (counts) return Show::kCounts;
    return only_matches ? Show::kMatches : Show::kRecords;
  }
  bool shows_names() const { return !without_name && (with_name || recursive || files.size() > 1); }
};

// The result of one step of a scan.
struct MatchedChunk {
  std::shared_ptr<const Chunk> chunk;  // null if nothing of it is shown
  std::uint64_t first_ordinal = 0;
  std::vector<FoundRecord> records;
  std::vector<Error> failures;  // of the chunk, or of its records
};

class Grep {
 public:
  Grep(const GrepOptions& options, const Matcher& matcher)
      : options_(options),
        matcher_(matcher),
        show_(options.show()),
        context_(options.reading),
        output_(STDOUT_FILENO),
        is_terminal_(::isatty(STDOUT_FILENO) != 0) {
    const bool one_is_enough = show_ == Show::kNames || show_ == Show::kNothing;
    most_ = one_is_enough ? std::min<std::uint64_t>(options.most, 1) : options.most;
  }

  int run() {
    list_files(
        options_.files, options_.recursive,
        [this](const ListedFile& file) {
          search(file);
          return output_.good() && !(options_.quiet && has_selected_);
        },
        [this](const std::string& path, const Error& error) {
          context_.print_failure(path, error);
          return true;
        });
    context_.note(output_.finish());
    if (options_.quiet && has_selected_) return 0;
    if (context_.status() != 0) return kGrepFailed;
    return has_selected_ ? 0 : 1;
  }

 private:
  void search(const ListedFile& file) {
    const auto store = file.was_found ? context_.open_if_container(file.path) : context_.open(file.path);
    if (!store) return;
    const SearchRules rules{.is_inverted = options_.inverted,
                            .wants_matches = show_ == Show::kMatches,
                            .most = most_,
                            .largest_record = options_.reading.limits.decoded_chunk};
    selected_ = 0;
    FoundDamage damage(file.path, *store, context_);
    if (most_ > 0) {
      const auto scanned = scan(*store, {.threads = context_.threads()}, [&](const ScannedStep& step) -> Finish {
        auto found = look_through(*store, step, rules);
        // cppcheck-suppress returnDanglingLifetime
        return [&, rows = step.damage, found = std::move(found)] {
          for (const DamageRow& row : rows) damage.add(row.region);
          return show(*store, found, file.path);
        };
      });
      if (!scanned) context_.print_failure(file.path, scanned.error());
    }
    damage.finish();
    has_selected_ = has_selected_ || selected_ > 0;
    if (show_ == Show::kCounts) {
      write_name(file.path, ':');
      output_.write(fmt::format("{}\n", selected_));
    }
    if (show_ == Show::kNames && selected_ > 0) write_line_of_name(file.path);
    if (is_terminal_) output_.flush();
  }

  // Thread-safe.
  MatchedChunk look_through(const RecordStore& store, const ScannedStep& step, const SearchRules& rules) const {
    if (!step.indexed || step.indexed->chunk.records == 0u) return {};
    MatchedChunk found{.chunk = nullptr, .first_ordinal = step.indexed->before.records, .records = {}, .failures = {}};
    auto chunk = store.chunks().decode_ahead(step.indexed->chunk);
    if (!chunk) {
      found.failures.push_back(chunk.error());
      return found;
    }
    const auto fail = [&](const Error& error) { found.failures.push_back(error); };
    found.records = search_chunk(store, step.indexed->chunk, **chunk, matcher_, rules, fail);
    if (!found.records.empty() && show_ <= Show::kMatches) found.chunk = std::move(*chunk);
    return found;
  }

  // Returns false if the file needs no further chunks.
  bool show(const RecordStore& store, const MatchedChunk& found, const std::string& path) {
    for (const Error& failure : found.failures) {
      store.log().report(failure);
      context_.note(failure);
    }
    for (const FoundRecord& record : found.records) {
      if (selected_ >= most_) break;
      ++selected_;
      if (found.chunk && !show_record(store, found, record, path)) return false;
    }
    if (is_terminal_ && !found.records.empty()) output_.flush();
    return selected_ < most_ && output_.good();
  }

  bool show_record(const RecordStore& store, const MatchedChunk& found, const FoundRecord& record,
                   const std::string& path) {
    const std::string number = fmt::format("{}:", found.first_ordinal + record.index);
    const auto write_prefix = [&] {
      write_name(path, ':');
      output_.write(number);
    };
    if (show_ == Show::kMatches) {
      for (const Match& match : record.matches) {
        write_prefix();
        write_bytes(store, found, record.index, match.begin, match.size);
        output_.write("\n");
      }
    } else {
      write_prefix();
      const std::uint64_t size = found.chunk->layout().extent(record.index).size;
      if (write_bytes(store, found, record.index, 0, size) != std::byte{'\n'}) output_.write("\n");
    }
    return output_.good();
  }

  // Returns the last byte, or 0 if there is none.
  std::byte write_bytes(const RecordStore& store, const MatchedChunk& found, std::uint64_t index, std::uint64_t at,
                        std::uint64_t size) {
    std::byte last{};
    const std::uint64_t end = at + size;
    while (at < end && output_.good()) {
      const auto piece = store.records().read(*found.chunk, index, at, std::min(kPiece, end - at));
      if (!piece) {
        context_.note(piece.error());
        break;
      }
      if (piece->bytes.empty()) break;
      output_.write(piece->bytes);
      last = piece->bytes.back();
      at += piece->bytes.size();
    }
    return last;
  }

  void write_name(const std::string& path, char after) {
    if (!options_.shows_names()) return;
    output_.write(path);
    output_.write(std::string(1, options_.zero_after_name ? '\0' : after));
  }

  void write_line_of_name(const std::string& path) {
    output_.write(path);
    output_.write(std::string(1, options_.zero_after_name ? '\0' : '\n'));
  }

  const GrepOptions& options_;
  const Matcher& matcher_;
  const Show show_;
  CommandContext context_;
  Output output_;
  const bool is_terminal_;
  std::uint64_t most_;
  std::uint64_t selected_ = 0;  // records of the current file
  bool has_selected_ = false;   // any record of any file
};

int grep(GrepOptions options) {
  if (options.patterns.empty()) {
    options.patterns.push_back(std::move(options.pattern));
  } else if (!options.pattern.empty()) {
    options.files.insert(options.files.begin(), std::move(options.pattern));
  }
  if (options.files.empty()) {
    print_message("FILE is required (try recordfs grep --help)");
    return kGrepFailed;
  }
  const auto matcher = Matcher::make(options.patterns, options.rules);
  if (!matcher) {
    print_message(matcher.error().detail);
    return kGrepFailed;
  }
  return Grep(options, **matcher).run();
}

constexpr std::string_view kGrepFooter =
    "Prints ORDINAL:RECORD and a newline, or FILE:ORDINAL:RECORD for several files. PATTERN uses the syntax of RE2:\n"
    "mostly that of grep -E, plus \\d, \\b, (?i) and lazy repetition. A record is one text, as with grep -z: . "
    "matches\n"
    "any character including a newline (not with (?-s)), and ^ and $ match at the ends of each line. Characters are\n"
    "UTF-8; a record that is not UTF-8 is also searched byte by byte.\n"
    "Exit status: 0 a record was selected, 1 none was, 2 an error or damage (0 with -q and a match).";

}  // namespace

std::function<int()> declare_grep(CLI::App& app) {
  const auto options = std::make_shared<GrepOptions>();
  app.set_help_flag("--help", "print this help");  // -h is an option of grep
  app.footer(std::string(kGrepFooter));
  app.add_option("PATTERN", options->pattern, "the pattern")->required()->type_name("");
  app.add_option("FILE", options->files, "containers")->type_name("");
  app.add_option("-e,--regexp", options->patterns, "use this pattern; all other words are files; may be repeated")
      ->type_name("PATTERN")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("-c,--count", options->counts, "print the number of matching records of each file");
  app.add_flag("-l,--files-with-matches", options->names, "print only the names of files with a match");
  app.add_flag("-o,--only-matching", options->only_matches, "print each match separately");
  app.add_flag("-q,--quiet", options->quiet, "print nothing, and exit at the first match");
  app.add_flag("-i,--ignore-case", options->rules.ignores_case, "ignore case");
  app.add_flag("-v,--invert-match", options->inverted, "select the records that do not match");
  app.add_flag("-F,--fixed-strings", options->rules.is_literal, "PATTERN is plain text");
  app.add_flag("-E,--extended-regexp", options->extended, "PATTERN is a regular expression (default)");
  app.add_option("-m,--max-count", options->most, "continue with the next file after N records")->type_name("N");
  app.add_flag("-H,--with-filename", options->with_name, "print the file name with each record");
  app.add_flag("-h,--no-filename", options->without_name, "print no file names");
  app.add_flag("-Z,--null", options->zero_after_name, "print a NUL byte after each file name");
  app.add_flag("-r,--recursive", options->recursive, "search all containers below directories");
  options->reading.declare(app);
  return [options] { return grep(*options); };
}

}  // namespace recordfs
