#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "core/dataset/pipe_input.h"
#include "core/export/set_ends.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/follow/followed_records.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct EndOptions {
  ReadingOptions reading;
  FormOptions form;
  RecordWords words;
  EndRecords wanted;
  bool follows = false;
  bool follows_name = false;  // -F
};

// Shows lines on a terminal, unless another form was requested.
FormOptions form_of(const EndOptions& options) {
  FormOptions form = options.form;
  if (form.form == RecordForm::kBytes && ::isatty(STDOUT_FILENO) == 1) form.form = RecordForm::kShown;
  return form;
}

int write_end(const EndOptions& options) {
  CommandContext context(options.reading);
  context.decode_with(options.form.types);
  if (decodes(options.form)) context.require_metadata();
  const auto reader = open_set(options.words, context);
  if (!reader) return context.status();
  const FormOptions form = form_of(options);
  const bool is_complete = copy_end(options.wanted, form, *reader, context, context.output());
  report_absent(form.json.fields.get(), context);
  report_condition(form.condition.get(), is_complete, context);
  return context.finish();
}

// Copies the last records of a file, and then those that are appended.
int follow(const EndOptions& options) {
  CommandContext context(options.reading);
  context.decode_with(options.form.types);
  if (decodes(options.form)) context.require_metadata();
  const std::string& path = options.words.files.front();
  const FormOptions form = form_of(options);
  const FollowedRecords::Options following{
      .follows_name = options.follows_name, .output = STDOUT_FILENO, .limits = context.limits()};
  FollowedRecords(path, following,
                  {.first_of = [&](std::uint64_t records) { return options.wanted.first_of(records); },
                   .take =
                       [&](const RecordStore& store, const OrdinalInterval& records) {
                         return copy_records(path, store, records, form, context, context.output());
                       },
                   .print = print_message},
                  context.services(), context)
      .run();
  return context.finish();
}

// Parses N of -n.
void set_count(const std::string& text, EndRecords& wanted) {
  wanted.sign = text.starts_with('+') || text.starts_with('-') ? text.front() : '\0';
  const std::uint64_t records = amount_of("--records", wanted.sign == '\0' ? text : text.substr(1));
  wanted.records = static_cast<std::int64_t>(std::min<std::uint64_t>(records, INT64_MAX));
}

// Takes a word such as -3 for -n 3, as head(1) and tail(1) do, unless it is a file.
void take_number(RecordWords& words, EndRecords& wanted) {
  const auto number = std::ranges::find_if(words.files, [](const std::string& word) {
    return word.size() > 1 && word.front() == '-' && word.find_first_not_of("0123456789", 1) == std::string::npos &&
           ::access(word.c_str(), F_OK) != 0;
  });
  if (number == words.files.end()) return;
  set_count(number->substr(1), wanted);
  words.files.erase(number);
  if (words.files.empty() && words.manifest.empty()) throw CLI::RequiredError("FILE");
}

std::shared_ptr<EndOptions> declare(CLI::App& app, bool is_head, const std::string& of_count) {
  auto options = std::make_shared<EndOptions>();
  options->wanted.is_head = is_head;
  declare_words(app, options->words, WordUse::kFiles, {}, [options = options.get()] {
    take_number(options->words, options->wanted);
    const RecordWords& words = options->words;
    const bool is_one_file = words.files.size() == 1 && words.manifest.empty() && !names_set(words.files.front()) &&
                             !is_pipe(words.files.front());
    if ((options->follows || options->follows_name) && !is_one_file) {
      throw CLI::ValidationError("--follow", "takes one file, which is not standard input or a pipe");
    }
    if ((options->follows || options->follows_name) && options->form.condition) {
      throw CLI::ValidationError("--follow", "excludes --where");
    }
  });
  begin_group(app, "Which records");
  declare_value(
      app, "-n,--records", "N",
      [options = options.get()](const std::string& text) { set_count(text, options->wanted); }, of_count)
      ->take_last();
  declare_where(app, options->form.condition);
  declare_form(app, options->form);
  options->reading.declare(app);
  app.footer(
      "On a terminal each record is a line with unprintable bytes escaped. In a pipe or a file the records follow each "
      "other without separators, as with recordfs cat, unless --lines, --json or another form is given. Several files "
      "are one data set, of which the first or last records are written.");
  return options;
}

}  // namespace

RunCommand declare_head(CLI::App& app) {
  const auto options = declare(app, true,
                               "number of records (default: 10); -N: all but the last N\n"
                               "A word -N is the same as -n N.");
  return [options] { return write_end(*options); };
}

RunCommand declare_tail(CLI::App& app) {
  const auto options = declare(app, false,
                               "number of records (default: 10); +N: all from the Nth on, +1 is all\n"
                               "A word -N is the same as -n N. As for tail(1), +N counts from 1.");
  begin_group(app, "Which records");
  app.add_flag("-f,--follow", options->follows,
               "continue with records that are appended, once they are complete\n"
               "The command runs until it is interrupted.");
  app.add_flag("-F", options->follows_name,
               "like -f, and continue with the next file of this name (log rotation)\n"
               "The records of the next file are written from its first on. If there is no file, or if it is empty, "
               "the command waits for one. A file that is overwritten or truncated is read again from its start.");
  return [options] {
    if (options->follows || options->follows_name) return follow(*options);
    return write_end(*options);
  };
}

}  // namespace recordfs
