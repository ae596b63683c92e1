#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/dataset/pipe_input.h"
#include "core/export/record_copier.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/follow/followed_records.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

// N of -n: how many records, or where they begin or end.
struct RecordCount {
  char sign = '\0';  // as it is given: '+', '-', or none
  std::int64_t records = 10;

  // What `head` and `tail` write.
  OrdinalRange at_the_front() const { return {.begin = 0, .end = sign == '-' ? from_end(records) : records}; }
  OrdinalRange at_the_end() const {
    if (sign == '+') return {.begin = std::max<std::int64_t>(records, 1) - 1, .may_begin_after_end = true};
    // A negative bound cannot express zero records.
    return records == 0 ? OrdinalRange{.begin = 0, .end = 0} : OrdinalRange{.begin = -records};
  }
  // Returns the first record that `tail` writes of a file with so many.
  std::uint64_t first_of(std::uint64_t all) const {
    const auto number = static_cast<std::uint64_t>(records);
    return sign == '+' ? std::max<std::uint64_t>(number, 1) - 1 : all - std::min(all, number);
  }

 private:
  static std::optional<std::int64_t> from_end(std::int64_t records) {
    return records == 0 ? std::nullopt : std::optional(-records);
  }
};

struct EndOptions {
  ReadingOptions reading;
  FormOptions form;
  RecordWords words;
  RecordCount count;
  bool follows = false;
  bool follows_name = false;  // -F
};

// Shows lines on a terminal, unless another form was requested.
FormOptions form_of(const EndOptions& options) {
  FormOptions form = options.form;
  if (form.form == RecordForm::kBytes && ::isatty(STDOUT_FILENO) == 1) form.form = RecordForm::kShown;
  return form;
}

// Copies a range of the data set. `window` tells which of the records of a condition are wanted.
void copy_range(const OrdinalRange& range, const FormOptions& form, SetReader& reader, CommandContext& context,
                SelectedWindow* window = nullptr) {
  reader.each(range, [&](const SetMember& member, const Selection& selection) {
    RecordCopier copier(member, form, context, context.output());
    if (window != nullptr) copier.keep_only(*window);
    return copier.copy(selection);
  });
}

// Copies the first or the last of the records that a condition selects. Returns whether all records were read.
bool copy_selected(const RecordCount& count, bool is_head, const FormOptions& form, SetReader& reader,
                   CommandContext& context) {
  const auto records = static_cast<std::uint64_t>(count.records);
  SelectedWindow window;
  if (is_head ? count.sign != '-' : count.sign == '+') {
    (is_head ? window.most : window.skipped) = is_head ? records : std::max<std::uint64_t>(records, 1) - 1;
    if (window.most > 0) copy_range({}, form, reader, context, &window);
    return !window.was_full && window.most > 0;
  }
  if (records == 0 && !is_head) return false;
  OrdinalRange range;
  FormOptions second = form;
  if (records > 0) {
    second.condition = form.condition->renewed();  // the first pass finds all doubts
    LastSelected last(records);
    const SelectedFinder finder{
        .condition = form.condition, .types = form.types, .skips_damage = form.skips_damage, .reporter = context};
    if (!finder.each(reader, [&](OrdinalInterval run) { last.add(run); })) return false;
    const auto first = last.first();
    if (is_head && !first) return true;
    (is_head ? range.end.emplace() : range.begin) = static_cast<std::int64_t>(first.value_or(0));
  }
  copy_range(range, second, reader, context);
  return true;
}

int copy_end(const EndOptions& options, bool is_head) {
  CommandContext context(options.reading);
  context.decode_with(options.form.types);
  if (decodes(options.form)) context.require_metadata();
  const auto reader = open_set(options.words, context);
  if (!reader) return context.status();
  const FormOptions form = form_of(options);
  bool is_complete = true;
  if (form.condition) {
    is_complete = copy_selected(options.count, is_head, form, *reader, context);
  } else {
    copy_range(is_head ? options.count.at_the_front() : options.count.at_the_end(), form, *reader, context);
  }
  report_absent(form.json.fields.get(), context);
  report_condition(form.condition.get(), is_complete, context);
  return context.finish();
}

// Copies records of a file that grows. Returns false if copying has to stop.
bool copy_of_store(const std::string& path, const RecordStore& store, const OrdinalInterval& records,
                   const FormOptions& form, CommandContext& context) {
  const auto begin = static_cast<std::int64_t>(records.begin);
  const auto selection = select({.begin = begin, .end = static_cast<std::int64_t>(records.end)}, store);
  if (!selection) return context.report_failure(path, selection.error()), false;
  const SetMember member{path, {std::shared_ptr<const void>(), &store}};  // not owned
  const bool is_copied = RecordCopier(member, form, context, context.output()).copy(*selection).has_value();
  context.output().flush();
  return is_copied && context.output().good();
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
  FollowedRecords(
      path, following,
      {.first_of = [&](std::uint64_t records) { return options.count.first_of(records); },
       .take = [&](const RecordStore& store,
                   const OrdinalInterval& records) { return copy_of_store(path, store, records, form, context); },
       .print = print_message},
      context.services(), context)
      .run();
  return context.finish();
}

RecordCount count_of(const std::string& text) {
  RecordCount count;
  if (text.starts_with('+') || text.starts_with('-')) count.sign = text.front();
  const std::uint64_t records = amount_of("--records", count.sign == '\0' ? text : text.substr(1));
  count.records = static_cast<std::int64_t>(std::min<std::uint64_t>(records, INT64_MAX));
  return count;
}

// Takes a word such as -3 for -n 3, as head(1) and tail(1) do, unless it is a file.
void take_number(RecordWords& words, RecordCount& count) {
  const auto number = std::ranges::find_if(words.files, [](const std::string& word) {
    return word.size() > 1 && word.front() == '-' && word.find_first_not_of("0123456789", 1) == std::string::npos &&
           ::access(word.c_str(), F_OK) != 0;
  });
  if (number == words.files.end()) return;
  count = count_of(number->substr(1));
  words.files.erase(number);
  if (words.files.empty() && words.manifest.empty()) throw CLI::RequiredError("FILE");
}

std::shared_ptr<EndOptions> declare(CLI::App& app, const std::string& of_count) {
  auto options = std::make_shared<EndOptions>();
  declare_words(app, options->words, WordUse::kFiles, {}, [options = options.get()] {
    take_number(options->words, options->count);
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
      app, "-n,--records", "N", [options = options.get()](const std::string& text) { options->count = count_of(text); },
      of_count)
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
  const auto options = declare(app,
                               "number of records (default: 10); -N: all but the last N\n"
                               "A word -N is the same as -n N.");
  return [options] { return copy_end(*options, true); };
}

RunCommand declare_tail(CLI::App& app) {
  const auto options = declare(app,
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
    return copy_end(*options, false);
  };
}

}  // namespace recordfs
