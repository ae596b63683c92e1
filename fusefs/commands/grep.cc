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
#include "fusefs/commands/database_grep.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/grep_options.h"
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
    if (status != kExitWrongUse && !options_.field.empty() && !options_.quiet && !has_selected_ && !has_field_) {
      print_message(fmt::format("no record has a field {} (recordfs cat --json shows the fields)", options_.field));
    }
    if (status == kExitTryAgain) return status;
    if (status != 0) return kExitGrepFailed;
    return has_selected_ ? 0 : 1;
  }

  void search(const ListedFile& file) {
    if (!file.was_found && !options_.raw && is_database_directory(file.path)) return search_database(file.path);
    if (!file.was_found && names_set(file.path)) return search_set(file.path, {.files = {file.path}});
    auto store = file.was_found ? context_.open_if_container(file.path) : context_.open(file.path);
    if (!store) return;
    selected_ = 0;
    search({file.path, std::move(store)}, file.path);
    end_of_file(file.path);
  }

  // Searches the keys that have a value.
  void search_database(const std::string& path) {
    if (options_.decoded || options_.ordinals) {
      context_.print_once(fmt::format(
          "{}: a database, which grep searches without --decoded, --field and --ordinals (try: --raw)", path));
      return context_.note(kExitWrongUse);
    }
    const auto reader = DatabaseReader::open(path, context_);
    if (!reader) return;
    const std::string prefix = options_.shows_names() ? shown_name(path, ':') : "";
    selected_ = grep_database(*reader,
                              {.matcher = matcher_,
                               .show = show_,
                               .is_json = options_.json,
                               .is_inverted = options_.inverted,
                               .most = most_,
                               .prefix = prefix,
                               .is_on_terminal = is_terminal_},
                              context_);
    has_selected_ = has_selected_ || selected_ > 0;
    if (show_ == Show::kNames && selected_ > 0) write_name(path, '\n');
    end_of_file(path);
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

  void write_name(const std::string& path, char after) { output_.write(shown_name(path, after)); }
  std::string shown_name(const std::string& path, char after) const {
    return (is_terminal_ ? printable(path) : path) + (options_.zero_after_name ? '\0' : after);
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

RunCommand declare_grep(CLI::App& app) {
  const auto options = std::make_shared<GrepOptions>();
  options->declare(app);
  return [options] { return grep(*options); };
}

}  // namespace recordfs
