#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/utf8.h"
#include "core/dataset/ask_together.h"
#include "core/dataset/random_order.h"
#include "core/dataset/splits.h"
#include "core/export/array_writer.h"
#include "core/export/key_list.h"
#include "core/export/record_copier.h"
#include "core/export/set_copier.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_options.h"
#include "fusefs/commands/key_range.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

struct CatOptions {
  ReadingOptions reading;
  FormOptions form;
  RecordWords words;
  RandomOptions random;
  std::optional<std::variant<Split, SetPart>> split;
  std::string skipped;  // a file; empty: none
  ArrayOptions array;   // instead of records
  DatabaseView view;    // of a database
  KeyRangeOptions keys;
};

// Returns why the options cannot be applied to a database; empty if they can.
std::string_view why_refused(const CatOptions& options) {
  if (options.form.form != RecordForm::kJson || options.array.is_wanted) return "with --json only (try: recordfs get)";
  if (options.words.has_ranges()) return "without a RANGE (try: --from)";
  if (options.split || options.random.is_given()) return "without --split, --shuffle and --sample";
  if (options.form.condition) return "without --where, since its values are not decoded";
  const bool decodes = options.form.json.fields != nullptr || !options.form.types.type.empty() ||
                       options.form.types.descriptors != nullptr;
  return decodes ? "without --fields, --descriptors and --type, since its values are not decoded" : "";
}

// Writes the keys of a database.
int cat_database(const CatOptions& options, CommandContext& context) {
  if (const std::string_view why = why_refused(options); !why.empty()) {
    print_message(fmt::format("{}: a database, which cat writes {}", set_name(options.words), why));
    return kExitWrongUse;
  }
  if (const auto reader = open_database(options.words, context)) {
    write_keys(*reader,
               {.family = options.view.family,
                .at = options.view.at,
                .range = options.keys.range,
                .limit = options.keys.limit,
                .is_of_all_families = true,
                .json = options.form.json,
                .skips_unreadable = options.form.skips_damage},
               context.output());
  }
  return context.finish();
}

// A split that cannot be parsed as a part of a data set is a range of a file.
std::optional<std::variant<Split, SetPart>> parse_split_or_part(const std::string& text) {
  if (const auto part = parse_part(text)) return *part;
  if (auto split = parse_split(text)) return std::move(*split);
  return std::nullopt;
}

// Empties the list of what is skipped. Returns false, after printing why, if that is a file that is read, or a
// container, as it is if the name of the list was forgotten.
bool begin_list(int list, const CatOptions& options, SetReader& reader, CommandContext& context) {
  struct stat st {};
  const bool is_read = ::fstat(list, &st) == 0 && files_read(options.words, reader.set()).contains(st);
  if (is_read || (S_ISREG(st.st_mode) && is_container_file(options.skipped).value_or(false))) {
    context.fail(kExitWrongUse, fmt::format("{}: {}", options.skipped,
                                            is_read ? kIsRead : "is a record container, which is never written"));
    return false;
  }
  if (!S_ISREG(st.st_mode) || ::ftruncate(list, 0) == 0) return true;
  context.fail(kExitPartlyDone, fmt::format("{}: {}", options.skipped, std::strerror(errno)));
  return false;
}

int cat(const CatOptions& options) {
  std::unique_ptr<Output> skipped;
  int list = -1;  // the descriptor that `skipped` has
  if (!options.skipped.empty()) {
    Descriptor file(::open(options.skipped.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!file) {
      print_message(fmt::format("{}: {}", options.skipped, std::strerror(errno)));
      return kExitPartlyDone;
    }
    list = file.number();
    skipped = std::make_unique<Output>(std::move(file), options.skipped);
  }
  CommandContext context(options.reading);
  context.list_skipped_in(std::move(skipped));
  context.decode_with(options.form.types);
  if (decodes(options.form)) context.require_metadata();
  if (options.split) context.distinguish_retries(options.form.skips_damage);
  const RecordWords& words = options.words;
  const bool reads_all = !options.split && !options.random.is_given() && !words.has_ranges() && words.manifest.empty();
  if (reads_all && words.files.size() == 1) expect_pass(words.files.front());
  const SourceSpec::Kind kind = kind_of(words, context);
  // Of logs and tables, keys can be wanted too.
  if (kind == SourceSpec::Kind::kDatabase || options.view.is_given() || options.keys.is_given()) {
    return cat_database(options, context);
  }
  if (const std::string* const database = words.files.size() > 1 ? database_among(words.files) : nullptr) {
    context.fail(kExitWrongUse,
                 printable(*database) + ": a database, which cat writes alone (try: recordfs cat --json)");
    return context.finish();
  }
  const auto reader = open_set(words, kind, context);
  if (!reader) return context.status();
  if (list >= 0 && !begin_list(list, options, *reader, context)) return context.finish();
  SetCopier copier(options.form, *reader, context, context.output());
  if (options.array.is_wanted && !reader->has_one_shard()) {
    context.fail(kExitWrongUse, fmt::format("{}: several files, each with an array of its own", reader->name()));
  } else if (options.array.is_wanted) {
    const auto& ranges = options.words.ranges;
    write_array(
        options.array, ranges.empty() ? std::nullopt : std::optional(std::get<OrdinalRange>(ranges.front())), *reader,
        [&] { copier.copy(OrdinalRange{}); }, context, context.output());
  } else if (options.split) {
    std::visit([&](const auto& split) { copier.copy(split, [&] { list_left_out(*reader, context); }); },
               *options.split);
  } else if (options.random.is_given()) {
    copy_in_random_order(options.random, options.form, *reader, context, context.output());
  } else if (words.has_ranges()) {
    each_range(words, context, [&](const Range& range) { return copier.copy(range); });
  } else {
    copier.copy(OrdinalRange{});
  }
  report_absent(options.form.json.fields.get(), context);
  report_condition(options.form.condition.get(), true, context);
  return context.finish();
}

void check_array_options(const CatOptions& options) {
  const auto& ranges = options.words.ranges;
  const bool has_form = options.form.form != RecordForm::kBytes || options.form.skips_damage || options.form.condition;
  if (options.split || options.random.is_given() || has_form) {
    throw CLI::ValidationError("--npy", "excludes options about records");
  }
  const bool has_address = !ranges.empty() && std::holds_alternative<RecordAddress>(ranges.front());
  if (ranges.size() > 1 || has_address || options.words.reads_ranges)
    throw CLI::ValidationError("--npy", "takes one RANGE of rows, as 10:20");
  if (options.array.is_flat && !ranges.empty()) throw CLI::ValidationError("--flat", "excludes RANGE");
}

}  // namespace

RunCommand declare_cat(CLI::App& app) {
  const auto options = std::make_shared<CatOptions>();
  declare_words(
      app, options->words, WordUse::kFilesAndRanges, "which records (default: all)", [options = options.get()] {
        const int ways =
            (options->words.has_ranges() ? 1 : 0) + (options->split ? 1 : 0) + (options->random.is_given() ? 1 : 0);
        if (ways > 1) throw CLI::ValidationError("only one of RANGE, --split and --shuffle or --sample can be given");
        if (options->array.is_wanted) check_array_options(*options);
        if (options->array.is_flat && !options->array.is_wanted) {
          throw CLI::ValidationError("--flat", "requires --npy");
        }
        if (!options->skipped.empty() && (!options->split || !options->form.skips_damage)) {
          throw CLI::ValidationError("--skipped", "requires --split and --skip-damage");
        }
      });
  declare_form(app, options->form);
  app.add_flag(
      "--npy", options->array.is_wanted,
      "write the numpy array that a file holds, as an .npy file; RANGE means rows\n"
      "`numpy.load` reads it. A mount shows the same file as `array.npy`. A RANGE selects rows, which are of the "
      "first dimension, and keeps the number of dimensions.");
  app.add_flag("--flat", options->array.is_flat,
               "with --npy: the elements of all records as one dimension, in stored order\n"
               "This works if the shape that the metadata states does not match the records, as after an append.");
  begin_group(app, "Which records");
  declare_value(
      app, "--split", "SPLIT",
      [options = options.get()](const std::string& text) {
        options->split = parse_split_or_part(text);
        if (!options->split)
          throw CLI::ValidationError("--split", "not [SHARD:]BEGIN:END, or I/N with I from 0 to N - 1: " + text);
      },
      "write the records of one split: a line or an id of recordfs splits, or I/N\n"
      "`BEGIN:END` means the chunks that begin in this range of bytes of a file, and `SHARD:BEGIN:END` those of one "
      "of "
      "several files. `I/N` means part I, from 0, of N parts of the data set of about equal size. The exit status "
      "is 75 "
      "if a retry may succeed.");
  declare_value(
      app, "--skipped", "F", options->skipped,
      "with --split and --skip-damage: list in F what was skipped, as lines of JSON\n"
      "Each has `file`, `begin`, `end`, `class`, `reason` and `records_lost`; missing shards have `shards` and "
      "`count` instead. F is replaced. Damage that it lists is not counted in the exit status.");
  declare_random(app, options->random);
  declare_where(app, options->form.condition);
  begin_group(app, "Keys of a database");
  options->keys.declare(app);
  options->view.declare(app, "all");
  options->reading.declare_database(app);
  options->reading.declare(app);
  app.footer(
      std::string(kRangeHelp) +
      "\nWithout a RANGE, writes all records; several ranges are written in the order given. Several files are "
      "one data set: their ordinals continue. A word after the first file is a RANGE if it looks like one; ./42 "
      "is a file. Stops at the first record that cannot be read, unless --skip-damage is given.\n"
      "If FILE is the directory of a database, --json writes a line for each key, in key order. With an option that "
      "chooses keys, logs and tables count as a database too.");
  return [options] { return cat(*options); };
}

}  // namespace recordfs
