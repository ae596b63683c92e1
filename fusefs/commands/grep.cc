#include <unistd.h>

#include <algorithm>
#include <atomic>
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
#include "core/base/utf8.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/record_decoder.h"
#include "core/search/decoded_text.h"
#include "core/search/record_matcher.h"
#include "core/search/record_search.h"
#include "core/store/json_line.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/damage_reporter.h"
#include "fusefs/commands/record_text.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kPiece = 1u << 20;  // bytes of a record per write

// Returns the text without the beginning of a character that its end may have cut.
std::string_view whole_characters(std::string_view text) {
  for (std::size_t cut = 1; cut < 4 && cut < text.size(); ++cut) {
    const std::string_view end = text.substr(text.size() - cut);
    const bool is_inside = (static_cast<unsigned char>(end.front()) & 0xC0) == 0x80;
    if (!is_inside) return utf8_character(end) == 0 ? text.substr(0, text.size() - cut) : text;
  }
  return text;
}

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
  std::uint64_t most = UINT64_MAX;

  Show show() const {
    if (quiet) return Show::kNothing;
    if (names) return Show::kNames;
    if (counts) return Show::kCounts;
    if (ordinals) return Show::kOrdinals;
    return only_matches ? Show::kMatches : Show::kRecords;
  }
  // Returns whether a line is made from the JSON of a record.
  bool makes_lines() const { return json || (decoded && show() == Show::kRecords); }
  bool shows_names() const { return !without_name && (with_name || recursive || files.size() > 1); }
};

// The result for a chunk, or for a batch.
struct MatchedChunk {
  std::shared_ptr<const Chunk> chunk{};         // null if nothing of it is shown
  std::shared_ptr<const ScannedBatch> batch{};  // the same
  std::uint64_t first_ordinal = 0;              // of a chunk
  std::vector<FoundRecord> records{};
  std::vector<std::string> lines{};  // that are shown for the records, if they are made from JSON
  std::vector<Error> failures{};     // of the chunk, or of its records
};

// What decodes the records of a file, and how it is named in the output.
struct Searched {
  const SetMember& member;
  const std::string& name;
  const RecordDecoder& decoder;
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
    if (!options_.field.empty() && !options_.quiet && !has_selected_ && !has_field_) {
      print_message(fmt::format("no record has a field {} (recordfs cat --json shows the fields)", options_.field));
    }
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
    const RecordDecoder decoder(member.store->schema(), member.store->metadata(), options_.types);
    const Searched searched{.member = member, .name = name, .decoder = decoder};
    if (selected_ < most_) {
      const auto search_step = [&](const RequestContext& context, const IndexedChunk& indexed) -> Finish {
        if (indexed.chunk.records == 0u) return {};
        // cppcheck-suppress returnDanglingLifetime
        return [&, found = search_ahead(context, searched, indexed)] { return show(member, found, name); };
      };
      const WorkOnBatch search_records = [&](const std::shared_ptr<const ScannedBatch>& batch) -> Finish {
        // cppcheck-suppress returnDanglingLifetime
        return [&, found = search_batch(batch)] { return show(member, found, name); };
      };
      const bool needs_chunks = options_.decoded || options_.json;
      damage.scan(everything(), search_step, needs_chunks ? WorkOnBatch() : search_records);
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
  MatchedChunk search_ahead(const RequestContext& context, const Searched& searched,
                            const IndexedChunk& indexed) const {
    const RecordStore& store = *searched.member.store;
    auto chunk = store.chunks().decode_ahead(context, indexed.chunk);
    if (!chunk) return {.failures = {chunk.error()}};
    Search wanted = this->wanted();
    if (options_.decoded) {
      wanted.text_of = [this, &searched](const ChunkInfo& info, Bytes record) {
        auto text = decoded_text({}, searched.decoder, info, record, options_.field);
        if (text && *text) has_field_ = true;
        return text;
      };
    }
    auto result = search_chunk({}, store, indexed.chunk, **chunk, wanted);
    MatchedChunk found{.first_ordinal = indexed.before.records,
                       .records = std::move(result.records),
                       .failures = std::move(result.failures)};
    if (options_.makes_lines()) {
      make_lines(searched, indexed, **chunk, found);
      return found;
    }
    if (!found.records.empty() && show_ <= Show::kOrdinals) found.chunk = std::move(*chunk);
    return found;
  }

  // Makes the lines of the selected records. A record that cannot be read any more becomes a failure.
  void make_lines(const Searched& searched, const IndexedChunk& indexed, const Chunk& chunk,
                  MatchedChunk& found) const {
    std::erase_if(found.records, [&](const FoundRecord& record) {
      auto line = line_of(searched, indexed, chunk, record);
      if (!line) {
        found.failures.push_back(std::move(line).error());
        return true;
      }
      found.lines.push_back(std::move(*line));
      return false;
    });
  }

  Result<std::string> line_of(const Searched& searched, const IndexedChunk& indexed, const Chunk& chunk,
                              const FoundRecord& found) const {
    ASSIGN_OR_RETURN(const auto record, searched.member.store->records().read({}, chunk, found.index, 0, UINT64_MAX));
    if (!options_.json) return searched.decoder.document({}, indexed.chunk, record.bytes, JsonLayout::kLine);
    const std::uint64_t ordinal = searched.member.first_ordinal + indexed.before.records + found.index;
    std::string line = json_line_head(ordinal, record.bytes.size(),
                                      json_member_of_file(searched.name) + json_member_of_shard(searched.member.name));
    line += matches_of(found, as_text(record.bytes)) + ',';
    append_json_bytes(line, "text", "base64", record.bytes);
    TRY(searched.decoder.append_members({}, line, indexed.chunk, record.bytes));
    return line += "}\n";
  }

  static std::string json_member_of_file(std::string_view name) {
    std::string member = "\"file\":";
    append_json_string(member, printable(name));
    return member + ',';
  }

  // Returns the member with the matches; offsets are in the record's bytes, so those of decoded text have none.
  std::string matches_of(const FoundRecord& found, std::string_view record) const {
    if (options_.inverted) return {};
    std::string list;
    for (const Match& match : found.matches) {
      list += list.empty() ? "{" : ",{";
      if (!options_.decoded) list += fmt::format("\"begin\":{},\"end\":{},", match.begin, match.begin + match.size);
      const std::string_view text = options_.decoded ? std::string_view(found.text) : record;
      append_json_bytes(list, "text", "base64", as_bytes(text.substr(match.begin, match.size)));
      list += '}';
    }
    return fmt::format(",\"matches\":[{}]", list);
  }

  // Thread-safe.
  MatchedChunk search_batch(const std::shared_ptr<const ScannedBatch>& batch) const {
    MatchedChunk found{.records = recordfs::search_batch(batch->content, wanted())};
    if (!found.records.empty() && show_ <= Show::kOrdinals) found.batch = batch;
    return found;
  }

  // Returns false if the file needs no further chunks.
  bool show(const SetMember& member, const MatchedChunk& found, const std::string& path) {
    for (const Error& failure : found.failures) context_.report(*member.store, failure);
    for (std::size_t i = 0; i < found.records.size() && selected_ < most_; ++i) {
      ++selected_;
      if (options_.json) {
        output_.write(found.lines[i]);
      } else if (found.chunk || found.batch || !found.lines.empty()) {
        show_record(member, found, i, path);
      }
      if (!output_.good()) return false;
    }
    if (is_terminal_ && !found.records.empty()) output_.flush();
    return selected_ < most_ && output_.good();
  }

  void show_record(const SetMember& member, const MatchedChunk& found, std::size_t place, const std::string& path) {
    const RecordStore& store = *member.store;
    const FoundRecord& record = found.records[place];
    const std::uint64_t first = found.batch ? found.batch->before.records : found.first_ordinal;
    const std::uint64_t ordinal = member.first_ordinal + first + record.index;
    const auto write_prefix = [&](char after) {
      write_prefix_name(path);
      output_.write(fmt::format("{}{}", ordinal, after));
    };
    if (show_ == Show::kOrdinals) return write_prefix('\n');
    if (show_ == Show::kMatches) {
      for (const Match& match : record.matches) {
        write_prefix(':');
        if (options_.decoded) {
          write_text(as_bytes(std::string_view(record.text).substr(match.begin, match.size)));
        } else {
          write_bytes(store, found, record.index, match.begin, match.size);
        }
        output_.write("\n");
      }
      return;
    }
    write_prefix(':');
    if (!found.lines.empty()) return output_.write(found.lines[place]);
    const std::uint64_t size = found.batch ? found.batch->content.records[record.index].size()
                                           : found.chunk->layout().extent(record.index).size;
    if (write_bytes(store, found, record.index, 0, size) != std::byte{'\n'}) output_.write("\n");
  }

  void write_text(Bytes bytes) {
    if (!is_terminal_) return output_.write(bytes);
    output_.write(printable_lines(as_text(bytes)));
  }

  // Returns the last byte, or 0 if there is none.
  std::byte write_bytes(const RecordStore& store, const MatchedChunk& found, std::uint64_t index, std::uint64_t at,
                        std::uint64_t size) {
    if (found.batch) {
      const Bytes bytes =
          found.batch->content.records[index].subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
      write_text(bytes);
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
      const bool may_be_cut = is_terminal_ && at + piece->bytes.size() < end;
      const Bytes bytes = may_be_cut ? as_bytes(whole_characters(as_text(piece->bytes))) : piece->bytes;
      write_text(bytes);
      last = bytes.back();
      at += bytes.size();
    }
    return last;
  }

  Search wanted() const {
    return {.matcher = matcher_,
            .is_inverted = options_.inverted,
            .wants_matches = show_ == Show::kMatches || options_.json,
            .most = most_,
            .largest_record = options_.reading.limits.decoded_chunk};
  }

  void write_prefix_name(const std::string& path) {
    if (options_.shows_names()) write_name(path, ':');
  }

  void write_name(const std::string& path, char after) {
    output_.write((is_terminal_ ? printable(path) : path) + (options_.zero_after_name ? '\0' : after));
  }

  const GrepOptions& options_;
  const RecordMatcher& matcher_;
  const Show show_;
  CommandContext context_;
  Output& output_;
  const bool is_terminal_;
  std::uint64_t most_;
  std::uint64_t selected_ = 0;                  // records of the current file or data set; with kNames, of the shard
  bool has_selected_ = false;                   // any record of any file
  mutable std::atomic<bool> has_field_{false};  // a decoded record
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

RunCommand declare_grep(CLI::App& app) {
  const auto options = std::make_shared<GrepOptions>();
  app.set_help_flag("--help", "print this help");  // -h is an option of grep
  app.footer(
      "Prints ORDINAL:RECORD and a newline, or FILE:ORDINAL:RECORD for several files. PATTERN uses the syntax of RE2: "
      "mostly that of grep -E, plus \\d, \\b, (?i) and lazy repetition. A record is one text, as with grep -z: . "
      "matches any character including a newline (not with (?-s)), and ^ and $ match at the ends of each line. "
      "Characters are UTF-8; a record that is not UTF-8 is also searched byte by byte.\n"
      "A data set ('NAME-*', NAME@128.EXT, a directory without -r) counts as one FILE: ordinals and -c are of all its "
      "shards, and -l prints the shards that match.\n"
      "Exit status: 0 a record was selected, 1 none was, 2 an error or damage (0 with -q and a match).");
  app.add_option("PATTERN", options->pattern, "the pattern")->required()->type_name("");
  app.add_option("FILE", options->files, "containers, - for standard input, or what names a data set")->type_name("");
  begin_group(app, "What matches");
  app.add_option("-e,--regexp", options->patterns, "use this pattern; all other words are files; may be repeated")
      ->type_name("PATTERN")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("-i,--ignore-case", options->rules.ignores_case, "ignore case");
  app.add_flag("-v,--invert-match", options->inverted, "select the records that do not match");
  app.add_flag("-F,--fixed-strings", options->rules.is_literal, "PATTERN is plain text");
  app.add_flag("-E,--extended-regexp", options->extended, "PATTERN is a regular expression (default)");
  begin_group(app, "Output");
  app.add_flag("-c,--count", options->counts, "print the number of matching records of each file");
  app.add_flag("-l,--files-with-matches", options->names, "print only the names of files with a match");
  app.add_flag("-o,--only-matching", options->only_matches, "print each match separately");
  app.add_flag("-q,--quiet", options->quiet, "print nothing, and exit at the first match");
  app.add_option_function<std::string>(
         "-m,--max-count",
         [options = options.get()](const std::string& text) {
           options->most = text == "-1" ? UINT64_MAX : amount_of("--max-count", text);  // -1: all, as for grep(1)
         },
         "continue with the next file after N records\n"
         "-1 means all records.")
      ->type_name("N");
  app.add_flag("-H,--with-filename", options->with_name, "print the file name with each record");
  app.add_flag("-h,--no-filename", options->without_name, "print no file names");
  app.add_flag("-Z,--null", options->zero_after_name, "print a NUL byte after each file name");
  declare_decoding(app, *options);
  begin_group(app, "Data sets");
  app.add_flag("-r,--recursive", options->recursive, "search all containers below directories");
  declare_manifest(app, options->manifest);
  declare_allow_missing(app, options->allows_missing);
  options->reading.declare(app);
  return [options] { return grep(*options); };
}

}  // namespace recordfs
