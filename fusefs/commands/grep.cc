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
#include "core/dataset/listed_files.h"
#include "core/dataset/matched_records.h"
#include "core/dataset/pipe_input.h"
#include "core/dataset/source_spec.h"
#include "core/search/record_matcher.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_grep.h"
#include "fusefs/commands/database_options.h"
#include "fusefs/commands/grep_options.h"
#include "fusefs/commands/grep_printer.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/where.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

class Grep {
 public:
  Grep(const GrepOptions& options, const RecordMatcher& matcher)
      : options_(options),
        matcher_(matcher),
        show_(options.show()),
        search_(options.search(matcher)),
        context_(options.reading),
        output_(context_.output()),
        printer_(options, context_),
        flushes_(options.line_buffered || ::isatty(STDOUT_FILENO) == 1) {
    context_.decode_with(options.types);
    if (options.decodes()) context_.require_metadata();
    if (options.hides_unopened) context_.hide_unopened();
  }

  int run() {
    if (!options_.manifest.empty()) {
      search_set(options_.manifest, {.manifest = options_.manifest});
      return finish();
    }
    const bool is_here = options_.files.empty() && options_.recursive;
    const std::vector<std::string> inputs = {is_here ? "." : std::string(kStandardInput)};
    const bool reads_all = search_.most == UINT64_MAX && !options_.quiet;
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
    if (options_.filter.wants(file.path)) search(file);
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
    const auto reader = open_database({.files = {path}}, context_);
    if (!reader) return;
    selected_ = grep_database(*reader, options_, matcher_, search_.most, printer_, output_);
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
    printer_.begin(member, name);
    std::uint64_t records = 0;
    if (selected_ < search_.most) {
      records = ContainerGrep(search_, member, name, undecoded_)
                    .read(context_, [&](const MatchedChunk& found) { return show(member, found); })
                    .value_or(0);
    }
    has_selected_ = has_selected_ || selected_ > 0;
    if (show_ == Show::kNames) end_of_shard(member.path);
    const bool is_over =
        !output_.good() || (options_.quiet && has_selected_) || (show_ != Show::kNames && selected_ >= search_.most);
    if (is_over) return std::nullopt;
    return records;
  }

  // Writes the name of what has matches, or of what has none.
  void end_of_shard(const std::string& path) {
    if ((selected_ > 0) != options_.names_without) printer_.write_file(path);
  }

  void end_of_file(const std::string& name) {
    if (show_ == Show::kCounts) printer_.write_count(name, selected_);
    if (flushes_) output_.flush();
  }

  // Returns false if the file needs no further chunks.
  bool show(const SetMember& member, const MatchedChunk& found) {
    for (const Error& failure : found.failures) context_.report(*member.store, failure);
    const std::uint64_t selected = std::min<std::uint64_t>(found.records.size(), search_.most - selected_);
    if (show_ <= Show::kOrdinals || options_.json) printer_.show(found, static_cast<std::size_t>(selected));
    selected_ += selected;
    if (flushes_ && selected > 0) output_.flush();
    if (selected_ >= search_.most) has_stopped_early_ = true;
    return output_.good() && (selected_ < search_.most || printer_.wants_more());
  }

  const GrepOptions& options_;
  const RecordMatcher& matcher_;
  const Show show_;
  const MatchOptions search_;
  CommandContext context_;
  Output& output_;
  GrepPrinter printer_;
  const bool flushes_;              // the output after each record, as far as they are found together
  std::uint64_t selected_ = 0;      // records of the current file or data set; with kNames, of the shard
  bool has_selected_ = false;       // any record of any file
  UndecodedRecords undecoded_;      // by --field
  bool has_stopped_early_ = false;  // before the end of a file
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
