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
#include "core/dataset/column_totals.h"
#include "core/dataset/source_spec.h"
#include "core/output/replace_file.h"
#include "core/report/page_elements.h"
#include "core/report/report_collector.h"
#include "core/report/report_page.h"
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

// Returns the title of the page: the words that name the files, or their number.
std::string title_of(const ReportOptions& options, std::uint64_t files) {
  if (!options.manifest.empty() && options.words.empty()) return options.manifest;
  const bool is_one_word = options.manifest.empty() && options.words.size() == 1;
  return is_one_word ? options.words.front() : counted(files, "file");
}

// Returns the page. Returns nullopt if no file can be read, or after a signal. Prints and notes what cannot be read.
std::optional<std::string> page_of(const std::vector<NamedFile>& files, const ReportOptions& options,
                                   CommandContext& context) {
  Progress progress("report", Progress::Unit::kBytes);
  ReportCollector collector(options.counted, context.database_options(),
                            {.open = [&](const std::string& path) { return context.open_quietly({}, path); },
                             .expects = [&](std::uint64_t bytes) { progress.expect(bytes); },
                             .has_read = [&](std::uint64_t bytes) { progress.add(bytes); }},
                            context);
  for (const std::string& word : options.words) {
    if (SourceSpec{.words = {word}}.kind() == SourceSpec::Kind::kDatabase) collector.check_database(word);
  }
  if (!std::ranges::all_of(files, [&](const NamedFile& file) { return collector.add(file); })) return std::nullopt;
  SetReport& all = collector.report();
  if (all.failed == all.files) return std::nullopt;
  collector.finish();
  if (!context.goes_on()) return std::nullopt;
  report_condition(options.counted.condition.get(), true, context);
  const std::string name = files.size() == 1 ? files.front().path : title_of(options, all.files);
  // Records without columns need none, unless the user says what their type is.
  const UserTypes& types = options.counted.types;
  const bool has_type = !types.type.empty() && !types.is_only_type;
  if (all.columns.records() > 0 || has_type)
    report_undecoded("columns", all.undecoded, "so they have no columns", context);
  report_counted(name, all.columns, context);
  all.is_selected = options.counted.condition != nullptr;
  return report_page(name, all);
}

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
    if (const auto page = page_of(files, options, context)) write_page(*page, output, options, context);
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
  begin_group(app, "Databases");
  options->reading.declare_database(app);
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
