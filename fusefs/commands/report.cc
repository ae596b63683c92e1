#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/descriptor.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/progress.h"
#include "fusefs/commands/report/file_survey.h"
#include "fusefs/commands/report/report_page.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

constexpr std::string_view kStandardOutput = "-";

struct ReportOptions {
  ReadingOptions reading;
  std::string file;
  std::string output{kStandardOutput};
};

// Returns nullopt if the file cannot be read, or after a signal.
std::optional<std::string> page_of(const ReportOptions& options, CommandContext& context) {
  const auto store = context.open(options.file);
  if (!store) return std::nullopt;
  Progress progress("report", Progress::Unit::kBytes);
  progress.set_total(store->source().size());
  const auto found = survey(*store, context.threads(), [&](std::uint64_t bytes) {
    progress.add(bytes);
    return !Interruption::came();
  });
  progress.clear();
  if (!found) {
    context.print_failure(options.file, found.error());
    return std::nullopt;
  }
  if (found->verdict.was_stopped) return std::nullopt;
  for (const Finding& finding : found->verdict.findings) context.note(finding.status);
  return report_page(options.file, *found);
}

// Returns whether writing to the output would destroy the container.
bool is_same_file(const ReportOptions& options) {
  std::error_code ignored;
  return std::filesystem::equivalent(options.file, options.output, ignored);
}

void write_page(const std::string& page, const ReportOptions& options, CommandContext& context) {
  if (options.output == kStandardOutput) return context.output().write(page);
  const Descriptor file(::open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  const int failed = file ? write_all(file.number(), as_bytes(page)) : errno;
  if (failed == 0) return;
  print_message(fmt::format("{}: {}", options.output, std::generic_category().message(failed)));
  context.note(kExitPartlyDone);
}

int report(const ReportOptions& options) {
  const Interruption interruption;
  CommandContext context(options.reading);
  if (is_same_file(options)) {
    print_message(fmt::format("{}: the report would replace the file", options.output));
    return kExitWrongUse;
  }
  if (const auto page = page_of(options, context)) write_page(*page, options, context);
  Interruption::pass_on();
  return context.finish();
}

}  // namespace

RunCommand declare_report(CLI::App& app) {
  const auto options = std::make_shared<ReportOptions>();
  app.add_option("FILE", options->file, "a container")->type_name("")->required();
  app.add_option("-o,--output", options->output,
                 "write the page to this file; the default is standard output\n"
                 "An existing file is replaced.")
      ->type_name("HTML");
  options->reading.declare(app);
  app.footer(
      R"(Reads and checks the whole file, as recordfs verify does, and writes one HTML page: a map of the file with the
codecs of its chunks and damage, compression along the file, record sizes, what the records are made of, and the
first records. The page needs no other file and no network, has no script, and is less than 1 MB at any file size.
Exit status: 4 if damage was found; the page is written nevertheless.)");
  return [options] { return report(*options); };
}

}  // namespace recordfs
