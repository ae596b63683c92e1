#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/database/uncertain_keys.h"
#include "core/dataset/column_totals.h"
#include "core/dataset/source_spec.h"
#include "core/output/replace_file.h"
#include "core/report/file_report.h"
#include "core/report/page_elements.h"
#include "core/report/report_page.h"
#include "core/report/set_report.h"
#include "core/verify/checked_databases.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/where.h"
#include "fusefs/exit_status.h"
#include "fusefs/interruption.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::string_view kStandardOutput = "-";

struct ReportOptions {
  ReadingOptions reading;
  std::vector<std::string> words;
  std::string manifest;
  std::string output;       // empty: standard output, unless it is a terminal
  bool replaces = false;    // any file
  ColumnOptions counted{};  // the condition selects the records that are described
};

// Makes the page. Prints and notes what cannot be read.
class Report {
 public:
  Report(const ReportOptions& options, CommandContext& context)
      : options_(options), context_(context), progress_("report", Progress::Unit::kBytes) {}

  // Returns nullopt if no file can be read, or after a signal.
  std::optional<std::string> page_of(const std::vector<NamedFile>& files) {
    SetReport all;
    check_databases();
    for (const NamedFile& file : files) {
      auto reported = report_on(file);
      if (Interruption::came()) return std::nullopt;
      if (reported) {
        all.add(file.path, std::move(*reported));
      } else {
        all.add_failure(file.path, file.missing ? "missing" : "unreadable", why_,
                        file.missing ? file.missing->count : 1);
      }
    }
    if (all.failed == all.files) return std::nullopt;
    add_findings_of_databases(all);
    if (Interruption::came()) return std::nullopt;
    progress_.clear();
    report_condition(options_.counted.condition.get(), true, context_);
    const std::string name = files.size() == 1 ? files.front().path : name_of(all.files);
    // Records without columns need none, unless the user says what their type is.
    const UserTypes& types = options_.counted.types;
    const bool has_type = !types.type.empty() && !types.is_only_type;
    if (all.columns.records() > 0 || has_type)
      report_undecoded("columns", all.undecoded, "so they have no columns", context_);
    report_too_many(name, all.columns, context_);
    all.is_selected = options_.counted.condition != nullptr;
    return report_page(name, all);
  }

 private:
  void check_databases() {
    for (const std::string& word : options_.words) {
      if (SourceSpec{.words = {word}}.kind() != SourceSpec::Kind::kDatabase) continue;
      const std::string directory = std::filesystem::path(word).append("").parent_path().string();
      if (const auto checked = databases_.check(directory); !checked) {
        context_.fail(impact_of_opening(checked.error()), open_failure(word, checked.error()));
      }
    }
  }

  // Adds the files that are missing or cannot be opened, and what is wrong with databases as a whole.
  void add_findings_of_databases(SetReport& all) {
    const auto take = [&](const Outcome& outcome) {
      context_.note(outcome.impact());
      if (outcome.failure) all.add_failure(outcome.path, "unreadable", outcome.failure->detail);
      if (!outcome.verdict) return;
      const std::vector<Finding>& found = outcome.verdict->findings;
      const auto missing = std::ranges::find(found, "missing", &Finding::word);
      if (missing == found.end()) return all.add_findings(outcome.path, found);
      all.add_failure(outcome.path, missing->word, missing->reason);
    };
    databases_.each_left(take, goes_on);
  }

  // Adds what the database of a file says of it.
  void check_as_file_of_database(const NamedFile& file, const Source& source, Verdict& verdict) {
    Outcome outcome{.path = file.path, .verdict = std::move(verdict)};
    databases_.check_file(file.path, source, goes_on, *outcome.verdict);
    databases_.complete(outcome);
    verdict = *std::move(outcome.verdict);
  }

  static bool goes_on() { return !Interruption::came(); }

  // Returns the words that name the files, or their number.
  std::string name_of(std::uint64_t files) const {
    if (!options_.manifest.empty() && options_.words.empty()) return options_.manifest;
    const bool is_one_word = options_.manifest.empty() && options_.words.size() == 1;
    return is_one_word ? options_.words.front() : counted(files, "file");
  }

  // Returns nullopt, with the reason in why_, if the file cannot be read.
  std::optional<FileReport> report_on(const NamedFile& file) {
    if (file.missing && file.missing->count > 1) {
      return fail(fmt::format("shards {} ({}) are missing", file.missing->numbers, file.missing->count));
    }
    if (file.missing) return fail("missing");
    const auto opened = context_.open_quietly({}, file.path);
    if (!opened) {
      progress_.clear();
      context_.report_unopened(file.path, opened.error());
      return fail(opened.error().detail);
    }
    const RecordStore& store = *opened->store;
    progress_.set_total(to_read_ += store.source().size());
    auto found = report_of(store, {.path = file.path, .path_in_set = path_in_set(file.path, file.bytes_in_set)},
                           options_.counted, context_.threads(), [&](std::uint64_t bytes) {
                             progress_.add(bytes);
                             return !Interruption::came();
                           });
    if (!found) {
      progress_.clear();
      context_.report_failure(file.path, found.error());
      return fail(found.error().detail);
    }
    if (found->verdict.was_stopped) return std::nullopt;
    check_as_file_of_database(file, store.source(), found->verdict);
    if (!found->failures.empty()) progress_.clear();
    for (const Error& why : found->failures) context_.report(store, why);
    declare_types_of(opened->store, options_.counted.types, found->columns);
    for (const Finding& finding : found->verdict.findings) context_.note(finding.impact);
    if (const auto unchecked = finding_without_checksums(found->verdict)) {
      progress_.clear();
      context_.fail(unchecked->impact, fmt::format("{}: {}", file.path, unchecked->reason));
    }
    return std::move(*found);
  }

  std::optional<FileReport> fail(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }

  const ReportOptions& options_;
  CommandContext& context_;
  Progress progress_;
  CheckedDatabases databases_{options_.reading.database_options()};
  std::uint64_t to_read_ = 0;  // bytes of the files so far
  std::string why_;            // why the last file cannot be read
};

// Returns whether writing to the output would destroy one of the files.
bool is_one_of(const std::string& output, const std::vector<NamedFile>& files) {
  return std::ranges::any_of(files, [&](const NamedFile& file) {
    std::error_code ignored;
    return std::filesystem::equivalent(file.path, output, ignored);
  });
}

// Returns whether a file may not be replaced: one that exists and is no report.
bool is_taken(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::string begin(kPageBegin.size(), '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin != kPageBegin;
}

// Returns nullopt for standard output.
std::optional<Result<ReplacedFile>> output_file(const std::string& path) {
  constexpr mode_t kMode = 0666;
  if (path.empty() || path == kStandardOutput) return std::nullopt;
  return ReplacedFile::at(path, kMode);
}

void write_page(const std::string& page, const std::optional<Result<ReplacedFile>>& output,
                const ReportOptions& options, CommandContext& context) {
  if (!output) return context.output().write(page);
  const auto written = (*output)->write(page);
  if (!written) context.fail(kExitPartlyDone, fmt::format("{}: {}", options.output, written.error().detail));
}

int report(const ReportOptions& options) {
  const Interruption interruption;
  // Before the context confines the process.
  const bool is_other_file = !options.replaces && is_taken(options.output);
  const auto output = output_file(options.output);
  CommandContext context(options.reading);
  context.decode_with(options.counted.types);
  auto files = named_files(options.manifest, options.words, context);
  std::erase_if(files, [](const NamedFile& file) { return file.is_surplus; });
  if (is_one_of(options.output, files)) {
    print_message(fmt::format("{}: the report would replace the file", options.output));
    return kExitWrongUse;
  }
  if (is_other_file) {
    print_message(fmt::format("{}: {} (-f replaces it)", options.output, system_error(EEXIST).detail));
    return kExitPartlyDone;
  }
  if (output && !*output) {
    print_message(fmt::format("{}: {}", options.output, output->error().detail));
    return kExitPartlyDone;
  }
  if (options.output.empty() && ::isatty(STDOUT_FILENO) == 1) {
    print_message("the page is HTML, and standard output is a terminal (try: -o PAGE)");
    return kExitWrongUse;
  }
  if (!files.empty()) {
    if (const auto page = Report(options, context).page_of(files)) write_page(*page, output, options, context);
  }
  Interruption::pass_on();
  return context.finish();
}

}  // namespace

RunCommand declare_report(CLI::App& app) {
  const auto options = std::make_shared<ReportOptions>();
  declare_sets(app, options->words, options->manifest);
  declare_value(app, "-o,--output", "HTML", options->output,
                "write the page to this file; the default is standard output\n"
                "An older report of this name is replaced, once the page is complete, and any other file with -f.");
  app.add_flag("-f,--force", options->replaces, "replace an existing file that is no report");
  begin_group(app, "Records");
  declare_where(app, options->counted.condition);
  declare_types(
      app, options->counted.types, [] { return true; }, "decoded records");
  options->reading.declare(app);
  app.footer(
      "Reads and checks the whole file, as recordfs verify does, and writes one HTML page: a map of the file with the "
      "codecs of its chunks and damage, compression along the file, record sizes, statistics of columns as of info "
      "--columns with charts of frequent values, JPEG, PNG, GIF and WebP images in columns of the first records, what "
      "the records are made of, and the first records. With --where, all but the first three are those of the selected "
      "records. The page of several files has a row for each of the first 200, sums, damage, record sizes, columns, "
      "and what the records are made of. It needs no other file and no network, has no script, and is less than 1 MiB "
      "at any size and number of files.\n"
      "Exit status: 0 success, 1 usage error, 2 a file cannot be opened or is not a container, 4 damage, 5 records "
      "cannot be decoded or have no checksums, --where names a field that no record has, a codec is missing, or the "
      "page cannot be written. 4 outranks 2, and 2 outranks 5. The page is written nevertheless, unless no file can be "
      "opened.");
  return [options] { return report(*options); };
}

}  // namespace recordfs
