#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/result.h"
#include "core/dataset/ask_together.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/listed_files.h"
#include "core/dataset/pipe_input.h"
#include "core/dataset/source_spec.h"
#include "core/decoding/json_writer.h"
#include "core/decoding/record_decoder.h"
#include "core/formats/field_projection.h"
#include "core/search/decoded_text.h"
#include "core/search/record_matcher.h"
#include "core/search/record_search.h"
#include "core/search/wanted_fields.h"
#include "core/store/json_line.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_grep.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/grep_options.h"
#include "fusefs/commands/grep_printer.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/where.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

// What decodes the records of a file, and how it is named in the output.
struct Searched {
  const SetMember& member;
  const std::string& name;
  const RecordDecoder& decoder;
  const FieldProjection* fields;  // that the search needs; null: all
};

class Grep {
 public:
  Grep(const GrepOptions& options, const RecordMatcher& matcher)
      : options_(options),
        matcher_(matcher),
        show_(options.show()),
        context_(options.reading),
        output_(context_.output()),
        printer_(options, context_),
        flushes_(options.line_buffered || ::isatty(STDOUT_FILENO) == 1) {
    context_.decode_with(options.types);
    const bool one_is_enough = show_ == Show::kNames || show_ == Show::kNothing;
    most_ = one_is_enough ? std::min<std::uint64_t>(options.most, 1) : options.most;
    if (options.hides_unopened) context_.hide_unopened();
  }

  int run() {
    if (!options_.manifest.empty()) {
      search_set(options_.manifest, {.manifest = options_.manifest});
      return finish();
    }
    const bool is_here = options_.files.empty() && options_.recursive;
    const std::vector<std::string> inputs = {is_here ? "." : std::string(kStandardInput)};
    const bool reads_all = most_ == UINT64_MAX && !options_.quiet;
    if (options_.files.size() == 1 && reads_all) expect_pass(options_.files.front());
    each_file(options_.files.empty() ? inputs : options_.files, options_.recursive, [&](ListedFile file) {
      if (is_here) file.path.erase(0, std::string_view("./").size());
      return take(file);
    });
    return finish();
  }

 private:
  // Returns false if no further files are needed.
  bool take(const ListedFile& file) {
    if (file.failure) {
      if (!options_.hides_unopened) context_.report_failure(file.path, *file.failure);
      context_.note(*file.failure);
      return true;
    }
    if (options_.wants(file.path)) search(file);
    return output_.good() && !(options_.quiet && has_selected_);
  }

  int finish() {
    report_absent(options_.json_line.fields.get(), context_);
    report_undecoded(options_.field ? "--field" : "--decoded", undecoded_.summary(), "so they are not searched",
                     context_);
    if (!has_stopped_early_) report_absent(options_.field.get(), context_);
    report_condition(options_.condition.get(), !has_stopped_early_, context_);
    const int status = context_.finish();
    // In `cat FILE $(recordfs grep --ordinals ...)`, there would be no range.
    if (show_ == Show::kOrdinals && !has_selected_ && status == 0 && ::isatty(STDOUT_FILENO) == 0) {
      print_message("no record is selected, and cat without a RANGE writes all of them (use: cat -r -)");
    }
    if (options_.quiet && has_selected_) return 0;
    if (status == kExitTryAgain) return status;
    if (status != 0) return kExitGrepFailed;
    return has_selected_ ? 0 : 1;
  }

  void search(const ListedFile& file) {
    using Kind = SourceSpec::Kind;
    const Kind kind = file.was_found ? Kind::kContainer : SourceSpec{.words = {file.path}}.kind();
    if (kind == Kind::kDatabase && !options_.raw) return search_database(file.path);
    if (kind != Kind::kContainer) return search_set(file.path, {.files = {file.path}});
    auto store = context_.open(file.path, file.was_found);
    if (!store) return;
    selected_ = 0;
    search({file.path, std::move(store)}, file.path);
    end_of_file(file.path);
  }

  // Searches the keys that have a value.
  void search_database(const std::string& path) {
    if (options_.decoded || options_.ordinals || options_.has_context() || options_.json_line.fields != nullptr ||
        options_.condition) {
      return context_.fail(kExitWrongUse,
                           fmt::format("{}: a database, which grep searches without --decoded, --field, --fields, "
                                       "--ordinals, --where, -A, -B and -C (try: --raw)",
                                       path));
    }
    const auto reader = DatabaseReader::open({.files = {path}}, context_);
    if (!reader) return;
    selected_ = grep_database(*reader, options_, matcher_, most_, printer_, output_);
    has_selected_ = has_selected_ || selected_ > 0;
    if (show_ == Show::kNames) end_of_shard(path);
    end_of_file(path);
  }

  // `name` is that of the data set in the output.
  void search_set(const std::string& name, RecordWords words) {
    words.allows_missing = options_.allows_missing;
    const auto reader = open_set(words, context_);
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
    const auto fields = searched_fields(*member.store);
    const Searched searched{.member = member, .name = name, .decoder = decoder, .fields = fields ? &*fields : nullptr};
    printer_.begin(member, name);
    std::uint64_t records = 0;
    if (selected_ < most_) {
      const auto search_step = [&](const RequestContext& context, const IndexedChunk& indexed) -> OrderedResult {
        if (indexed.chunk.records == 0u) return {};
        // cppcheck-suppress returnDanglingLifetime
        return [&, found = search_ahead(context, searched, indexed)] { return show(member, found); };
      };
      const ProcessBatch search_records = [&](const std::shared_ptr<const ScannedBatch>& batch) -> OrderedResult {
        // cppcheck-suppress returnDanglingLifetime
        return [&, batch, found = search_batch(batch)] {
          found->first_ordinal = batch->before.records;
          return show(member, found);
        };
      };
      const bool needs_chunks =
          options_.decoded || options_.json || options_.has_context() || options_.condition != nullptr;
      // The search for a text is as fast as to copy the records.
      const bool is_light = !needs_chunks && !options_.inverted && !matcher_.literal().empty();
      records = damage
                    .read({.store = *member.store, .is_light = is_light}, {.threads = context_.threads()}, search_step,
                          needs_chunks ? ProcessBatch() : search_records)
                    .value_or(0);
    }
    has_selected_ = has_selected_ || selected_ > 0;
    if (show_ == Show::kNames) end_of_shard(member.path);
    const bool is_over =
        !output_.good() || (options_.quiet && has_selected_) || (show_ != Show::kNames && selected_ >= most_);
    if (is_over) return std::nullopt;
    return records;
  }

  // Returns the fields that the search and the condition need; nullopt if all may be needed, or will be for the lines.
  std::optional<FieldProjection> searched_fields(const RecordStore& store) const {
    if (options_.field == nullptr || (options_.inverted && options_.makes_lines())) return std::nullopt;
    std::vector<std::string> names = options_.field_names;
    if (options_.condition) {
      const auto& others = options_.condition->condition().names();
      names.insert(names.end(), others.begin(), others.end());
    }
    return wanted_fields({}, store, options_.types, names);
  }

  // Writes the name of what has matches, or of what has none.
  void end_of_shard(const std::string& path) {
    if ((selected_ > 0) != options_.names_without) printer_.write_file(path);
  }

  void end_of_file(const std::string& name) {
    if (show_ == Show::kCounts) printer_.write_count(name, selected_);
    if (flushes_) output_.flush();
  }

  // Thread-safe.
  std::shared_ptr<MatchedChunk> search_ahead(const RequestContext& context, const Searched& searched,
                                             const IndexedChunk& indexed) const {
    auto found = std::make_shared<MatchedChunk>();
    found->first_ordinal = indexed.before.records;
    const RecordStore& store = *searched.member.store;
    auto chunk = store.chunks().decode_ahead(context, indexed.chunk, searched.fields);
    if (!chunk) {
      found->failures.push_back(std::move(chunk).error());
      return found;
    }
    Search wanted = this->wanted();
    if (options_.condition) wanted.selects = selector(*options_.condition, searched.decoder, searched.member);
    if (options_.decoded) {
      wanted.texts_of = [this, &searched](const ChunkInfo& info, Bytes record,
                                          const std::function<void(std::string_view)>& take) {
        const SearchedFields fields{.paths = options_.field.get(),
                                    .undecoded = &undecoded_,
                                    .path = searched.member.path,
                                    .path_in_set = searched.member.path_in_set()};
        return each_decoded_text({}, searched.decoder, info, record, fields, take);
      };
    }
    auto result = search_chunk({}, store, indexed.chunk, **chunk, wanted);
    found->records = std::move(result.records);
    found->failures = std::move(result.failures);
    if (options_.makes_lines()) {
      if (searched.fields != nullptr && !found->records.empty() && may_lack_fields(indexed.chunk, **chunk)) {
        chunk = store.chunks().decode_ahead(context, indexed.chunk);
      }
      if (!chunk) {
        found->records.clear();
        found->failures.push_back(std::move(chunk).error());
        return found;
      }
      make_lines(searched, indexed, **chunk, *found);
      return found;
    }
    const bool is_shown = options_.has_context() || (!found->records.empty() && show_ <= Show::kOrdinals);
    if (is_shown) found->chunk = std::move(*chunk);
    if (options_.has_context()) found->info = indexed.chunk;
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
    std::string line = json_line_head(ordinal, record.bytes.size(), searched.member.name, searched.name);
    if (!options_.inverted) write_matches(found, as_text(record.bytes), line);
    if (options_.json_line.has_record) {
      JsonWriter::in_object(line, JsonWriter::kNoLimit, options_.json_line.bytes).bytes("text", "base64", record.bytes);
    }
    TRY(append_decoded(line, searched.decoder, indexed.chunk, record.bytes, options_.json_line));
    return line += "}\n";
  }

  // Appends the member with the matches; offsets are in the record's bytes, so those of decoded text have none.
  void write_matches(const FoundRecord& found, std::string_view record, std::string& line) const {
    auto json = JsonWriter::in_object(line);
    json.name("matches");
    json.begin_list();
    for (const Match& match : found.matches) {
      write_match(json, match, options_.decoded ? std::string_view(found.text) : record, !options_.decoded);
    }
    json.end_list();
  }

  // Thread-safe.
  std::shared_ptr<MatchedChunk> search_batch(const std::shared_ptr<const ScannedBatch>& batch) const {
    auto found = std::make_shared<MatchedChunk>();
    found->records = recordfs::search_batch(batch->content, wanted());
    if (!found->records.empty() && show_ <= Show::kOrdinals) found->batch = batch;
    return found;
  }

  // Returns false if the file needs no further chunks.
  bool show(const SetMember& member, const std::shared_ptr<MatchedChunk>& found) {
    for (const Error& failure : found->failures) context_.report(*member.store, failure);
    const std::uint64_t selected = std::min<std::uint64_t>(found->records.size(), most_ - selected_);
    if (show_ <= Show::kOrdinals || options_.json) printer_.show(*found, static_cast<std::size_t>(selected));
    selected_ += selected;
    if (flushes_ && selected > 0) output_.flush();
    if (selected_ >= most_) has_stopped_early_ = true;
    return output_.good() && (selected_ < most_ || printer_.wants_more());
  }

  Search wanted() const {
    return {
        .matcher = &matcher_,
        .is_inverted = options_.inverted,
        .wants_matches = show_ == Show::kMatches || options_.json || (show_ == Show::kRecords && options_.has_colors()),
        .most = most_,
        .largest_record = options_.reading.limits.decoded_chunk};
  }

  const GrepOptions& options_;
  const RecordMatcher& matcher_;
  const Show show_;
  CommandContext context_;
  Output& output_;
  GrepPrinter printer_;
  const bool flushes_;  // the output after each record, as far as they are found together
  std::uint64_t most_;
  std::uint64_t selected_ = 0;          // records of the current file or data set; with kNames, of the shard
  bool has_selected_ = false;           // any record of any file
  mutable UndecodedRecords undecoded_;  // by --field
  bool has_stopped_early_ = false;      // before the end of a file
};

int grep(const GrepOptions& options) {
  if (options.files.empty() && options.manifest.empty() && !options.recursive && ::isatty(STDIN_FILENO) == 1) {
    print_message("FILE is required, because standard input is a terminal (try recordfs grep --help)");
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
