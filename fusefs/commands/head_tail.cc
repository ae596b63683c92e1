#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/store/wait_ticket.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/follow.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/record_copier.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/commands/standard_input.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct EndOptions {
  ReadingOptions reading;
  FormOptions form;
  RecordWords words;
  std::int64_t records = 10;
  bool follows = false;
};

// Shows lines on a terminal, unless another form was requested.
FormOptions form_of(const EndOptions& options) {
  FormOptions form = options.form;
  if (form.form == RecordForm::kBytes && ::isatty(STDOUT_FILENO) == 1) form.form = RecordForm::kShown;
  return form;
}

int copy_range(const EndOptions& options, const OrdinalRange& range) {
  CommandContext context(options.reading);
  const auto reader = SetReader::open(options.words, context);
  if (!reader) return context.status();
  const FormOptions form = form_of(options);
  reader->each(range, [&](const SetMember& member, const Selection& selection) -> std::optional<std::uint64_t> {
    RecordCopier copier(member, form, context);
    if (!copier.copy(selection)) return std::nullopt;
    return copier.scanned_records();
  });
  return context.finish();
}

// Copies the last records, and then those that are appended, until the output's reader has gone.
int follow_end(const EndOptions& options) {
  const std::string& path = options.words.files.front();
  CommandContext context(options.reading);
  const auto file = context.open_followed(path);
  if (!file) return context.status();
  FileWatch watch({path});
  const FormOptions form = form_of(options);
  Following following{.output = STDOUT_FILENO};
  const auto counts = wait_for([&] { return file->store()->index().totals(ScanDetail::kCounts); });
  if (counts) following.from = counts->records - std::min(counts->records, static_cast<std::uint64_t>(options.records));
  following.take = [&](const RecordStore& store, const Span& records) {
    const auto begin = static_cast<std::int64_t>(records.begin);
    const auto selection = select({.begin = begin, .end = static_cast<std::int64_t>(records.end)}, store);
    const SetMember member{path, {std::shared_ptr<const void>(), &store}};  // not owned
    if (selection) return RecordCopier(member, form, context).copy(*selection);
    context.print_failure(path, selection.error());
    return false;
  };
  following.pause = [&] {
    context.output().flush();
    return context.output().good();
  report_absent(form.json.fields.get(), context);
  };
  following.moved = [&] {
    print_message(fmt::format("{}: moved, removed or replaced; the old file is still followed", path));
  };
  const auto followed = counts ? follow_records(*file, watch, following) : Result<void>(counts.error());
  if (!followed) context.print_failure(path, followed.error());
  return context.finish();
}

std::shared_ptr<EndOptions> declare(CLI::App& app) {
  auto options = std::make_shared<EndOptions>();
  declare_words(app, options->words, WordUse::kFiles, {}, [options = options.get()] {
    const RecordWords& words = options->words;
    const bool is_one_file = words.files.size() == 1 && words.manifest.empty() && !names_set(words.files.front()) &&
                             words.files.front() != kStandardInput;
    if (options->follows && !is_one_file) {
      throw CLI::ValidationError("--follow", "takes one file, which is not standard input");
    }
  });
  begin_group(app, "Which records");
  app.add_option_function<std::string>(
         "-n,--records",
         [options = options.get()](const std::string& text) {
           options->records =
               static_cast<std::int64_t>(std::min<std::uint64_t>(amount_of("--records", text), INT64_MAX));
         },
         "number of records (default: 10)")
      ->type_name("N");
  options->form.declare(app);
  options->reading.declare(app);
  app.footer(
      "On a terminal each record is a line with unprintable bytes escaped. In a pipe or a file the records follow each "
      "other without separators, as with recordfs cat, unless --lines, --json or another form is given. Several files "
      "are one data set, of which the first or last records are written.");
  return options;
}

}  // namespace

RunCommand declare_head(CLI::App& app) {
  const auto options = declare(app);
  return [options] { return copy_range(*options, {.begin = 0, .end = options->records}); };
}

RunCommand declare_tail(CLI::App& app) {
  const auto options = declare(app);
  begin_group(app, "Which records");
  app.add_flag("-f,--follow", options->follows,
               "continue with records that are appended, once they are complete\n"
               "The command runs until it is interrupted.");
  return [options] {
    if (options->follows) return follow_end(*options);
    // A negative bound cannot express zero records.
    if (options->records == 0) return copy_range(*options, {.begin = 0, .end = 0});
    return copy_range(*options, {.begin = -options->records});
  };
}

}  // namespace recordfs
