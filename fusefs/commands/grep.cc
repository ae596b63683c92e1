#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/result.h"
#include "core/search/record_matcher.h"
#include "core/search/record_search.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/damage_reporter.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
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
  std::string manifest;
  bool allows_missing = false;
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

// The result for a chunk, or for a batch.
struct MatchedChunk {
  std::shared_ptr<const Chunk> chunk{};         // null if nothing of it is shown
  std::shared_ptr<const ScannedBatch> batch{};  // the same
  std::uint64_t first_ordinal = 0;              // of a chunk
  std::vector<FoundRecord> records{};
  std::vector<Error> failures{};  // of the chunk, or of its records
};

class Grep {
 public:
  Grep(const GrepOptions& options, const RecordMatcher& matcher)
      : options_(options),
        matcher_(matcher),
        show_(options.show()),
        context_(options.reading),
        output_(context_.output()),
        is_terminal_(::isatty(STDOUT_FILENO) != 0) {
    const bool one_is_enough = show_ == Show::kNames || show_ == Show::kNothing;
    most_ = one_is_enough ? std::min<std::uint64_t>(options.most, 1) : options.most;
  }

  int run() {
    if (!options_.manifest.empty()) {
      search_set(options_.manifest, {.manifest = options_.manifest});
      return finish();
    }
    list_files(options_.files, options_.recursive, [this](const ListedFile& file) {
      if (file.failure) {
        context_.print_failure(file.path, *file.failure);
        return true;
      }
      search(file);
      return output_.good() && !(options_.quiet && has_selected_);
    });
    return finish();
  }

 private:
  int finish() {
    const int status = context_.finish();
    if (options_.quiet && has_selected_) return 0;
    if (status != 0) return kExitGrepFailed;
    return has_selected_ ? 0 : 1;
  }

  void search(const ListedFile& file) {
    if (!file.was_found && names_set(file.path)) return search_set(file.path, {.files = {file.path}});
    auto store = file.was_found ? context_.open_if_container(file.path) : context_.open(file.path);
    if (!store) return;
    selected_ = 0;
    search({file.path, std::move(store)}, file.path);
    end_of_file(file.path);
  }

  // `name` is that of the data set in the output.
  void search_set(const std::string& name, RecordWords words) {
    words.allows_missing = options_.allows_missing;
    const auto reader = SetReader::open(words, context_);
    if (!reader) return;
    selected_ = 0;
    reader->each(OrdinalRange{}, [&](const SetMember& member, const Selection&) { return search(member, name); });
    end_of_file(name);
  }

  // Returns as SetReader::Take does.
  std::optional<std::uint64_t> search(const SetMember& member, const std::string& name) {
    if (show_ == Show::kNames) selected_ = 0;
    DamageReporter damage(member.path, *member.store, context_);
    if (selected_ < most_) {
      const auto search_step = [&](const RequestContext& context, const IndexedChunk& indexed) -> Finish {
        if (indexed.chunk.records == 0u) return {};
        // cppcheck-suppress returnDanglingLifetime
        return [&, found = search_ahead(context, *member.store, indexed)] { return show(member, found, name); };
      };
      const auto search_records = [&](const std::shared_ptr<const ScannedBatch>& batch) -> Finish {
        // cppcheck-suppress returnDanglingLifetime
        return [&, found = search_batch(batch)] { return show(member, found, name); };
      };
      damage.scan(everything(), search_step, search_records);
    }
    has_selected_ = has_selected_ || selected_ > 0;
    if (show_ == Show::kNames && selected_ > 0) write_name(member.path, '\n');
    const bool is_over =
        !output_.good() || (options_.quiet && has_selected_) || (show_ != Show::kNames && selected_ >= most_);
    if (is_over) return std::nullopt;
    return damage.scanned_records();
  }

  void end_of_file(const std::string& name) {
    if (show_ == Show::kCounts) {
      write_prefix_name(name);
      output_.write(fmt::format("{}\n", selected_));
    }
    if (is_terminal_) output_.flush();
  }

  // Thread-safe.
  MatchedChunk search_ahead(const RequestContext& context, const RecordStore& store,
                            const IndexedChunk& indexed) const {
    auto chunk = store.chunks().decode_ahead(context, indexed.chunk);
    if (!chunk) return {.failures = {chunk.error()}};
    auto result = search_chunk({}, store, indexed.chunk, **chunk, wanted());
    MatchedChunk found{.first_ordinal = indexed.before.records,
                       .records = std::move(result.records),
                       .failures = std::move(result.failures)};
    if (!found.records.empty() && show_ <= Show::kMatches) found.chunk = std::move(*chunk);
    return found;
  }

  // Thread-safe.
  MatchedChunk search_batch(const std::shared_ptr<const ScannedBatch>& batch) const {
    MatchedChunk found{.records = recordfs::search_batch(batch->content, wanted())};
    if (!found.records.empty() && show_ <= Show::kMatches) found.batch = batch;
    return found;
  }

  // Returns false if the file needs no further chunks.
  bool show(const SetMember& member, const MatchedChunk& found, const std::string& path) {
    for (const Error& failure : found.failures) context_.report(*member.store, failure);
    for (const FoundRecord& record : found.records) {
      if (selected_ >= most_) break;
      ++selected_;
      if ((found.chunk || found.batch) && !show_record(member, found, record, path)) return false;
    }
    if (is_terminal_ && !found.records.empty()) output_.flush();
    return selected_ < most_ && output_.good();
  }

  bool show_record(const SetMember& member, const MatchedChunk& found, const FoundRecord& record,
                   const std::string& path) {
    const RecordStore& store = *member.store;
    const std::uint64_t first = found.batch ? found.batch->before.records : found.first_ordinal;
    const std::string number = fmt::format("{}:", member.first_ordinal + first + record.index);
    const auto write_prefix = [&] {
      write_prefix_name(path);
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
      const std::uint64_t size = found.batch ? found.batch->content.records[record.index].size()
                                             : found.chunk->layout().extent(record.index).size;
      if (write_bytes(store, found, record.index, 0, size) != std::byte{'\n'}) output_.write("\n");
    }
    return output_.good();
  }

  // Returns the last byte, or 0 if there is none.
  std::byte write_bytes(const RecordStore& store, const MatchedChunk& found, std::uint64_t index, std::uint64_t at,
                        std::uint64_t size) {
    if (found.batch) {
      const Bytes bytes =
          found.batch->content.records[index].subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
      output_.write(bytes);
      return bytes.empty() ? std::byte{} : bytes.back();
    }
    std::byte last{};
    const std::uint64_t end = at + size;
    while (at < end && output_.good()) {
      const auto piece = store.records().read({}, *found.chunk, index, at, std::min(kPiece, end - at));
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

  Search wanted() const {
    return {.matcher = matcher_,
            .is_inverted = options_.inverted,
            .wants_matches = show_ == Show::kMatches,
            .most = most_,
            .largest_record = options_.reading.limits.decoded_chunk};
  }

  void write_prefix_name(const std::string& path) {
    if (options_.shows_names()) write_name(path, ':');
  }

  void write_name(const std::string& path, char after) {
    output_.write(path + (options_.zero_after_name ? '\0' : after));
  }

  const GrepOptions& options_;
  const RecordMatcher& matcher_;
  const Show show_;
  CommandContext context_;
  Output& output_;
  const bool is_terminal_;
  std::uint64_t most_;
  std::uint64_t selected_ = 0;  // records of the current file or data set; with kNames, of the shard
  bool has_selected_ = false;   // any record of any file
};

int grep(GrepOptions options) {
  if (options.patterns.empty()) {
    options.patterns.push_back(std::move(options.pattern));
  } else if (!options.pattern.empty()) {
    options.files.insert(options.files.begin(), std::move(options.pattern));
  }
  if (options.files.empty() && options.manifest.empty()) {
    print_message("FILE is required (try recordfs grep --help)");
    return kExitGrepFailed;
  }
  const auto matcher = RecordMatcher::make(options.patterns, options.rules);
  if (!matcher) {
    print_message(fmt::format("bad pattern: {}", matcher.error().detail));
    return kExitGrepFailed;
  }
  return Grep(options, **matcher).run();
}

}  // namespace

RunCommand declare_grep(CLI::App& app) {
  const auto options = std::make_shared<GrepOptions>();
  app.set_help_flag("--help", "print this help");  // -h is an option of grep
  app.footer(
      R"(Prints ORDINAL:RECORD and a newline, or FILE:ORDINAL:RECORD for several files. PATTERN uses the syntax of RE2:
mostly that of grep -E, plus \d, \b, (?i) and lazy repetition. A record is one text, as with grep -z: . matches
any character including a newline (not with (?-s)), and ^ and $ match at the ends of each line. Characters are
UTF-8; a record that is not UTF-8 is also searched byte by byte. A data set ('NAME-*', NAME@128.EXT, a directory
without -r) counts as one FILE: ordinals and -c are of all its shards, and -l prints the shards that match.
Exit status: 0 a record was selected, 1 none was, 2 an error or damage (0 with -q and a match).)");
  app.add_option("PATTERN", options->pattern, "the pattern")->required()->type_name("");
  app.add_option("FILE", options->files, "containers, - for standard input, or what names a data set")->type_name("");
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
  declare_manifest(app, options->manifest);
  declare_allow_missing(app, options->allows_missing);
  options->reading.declare(app);
  return [options] { return grep(*options); };
}

}  // namespace recordfs
