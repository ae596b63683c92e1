#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/read_window.h"
#include "core/dataset/splits.h"
#include "fusefs/commands/array_writer.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/database_records.h"
#include "fusefs/commands/key_range.h"
#include "fusefs/commands/random_order.h"
#include "fusefs/commands/range.h"
#include "fusefs/commands/record_copier.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/set_reader.h"
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

// Copies ranges. Keeps the shard of the last single record, because the next one is often in it.
class Cat {
 public:
  Cat(const CatOptions& options, SetReader& reader, CommandContext& context)
      : options_(options), reader_(reader), context_(context) {}

  bool copy(const OrdinalRange& range) {
    return reader_.each(range, [&](const SetMember& member, const Selection& selection) {
      return RecordCopier(member, options_.form, context_).copy(selection);
    });
  }

  bool copy(const Split& split) {
    const auto shard = split.shard.empty() ? std::optional(std::size_t{0}) : reader_.set().find_shard(split.shard);
    if (split.begin == 0 && shard == reader_.first_present()) reader_.list_left_out();
    auto member = reader_.member(split.shard);
    return member && copy(*member, split);
  }

  bool copy(const SetPart& part) {
    const auto sizes = shard_sizes(reader_.set());
    if (!sizes) {
      context_.fail(kExitCannotOpen, sizes.error().detail);
      return false;
    }
    if (part.check && *part.check != check_of(reader_.set(), *sizes)) {
      context_.fail(kExitPartlyDone,
                    fmt::format("{}: the names or sizes of files have changed since this split was made: {}",
                                reader_.name(), part_id(part)));
      return false;
    }
    if (part.number == 0) reader_.list_left_out();
    return std::ranges::all_of(ranges_of(part, *sizes), [&](const ShardRange& range) {
      const auto member = reader_.member(range.shard, 0);
      if (!member) return options_.words.allows_missing;
      return copy(*member, {.begin = range.begin, .end = range.end});
    });
  }

  // Returns false if copying has to stop. A range that cannot be found does not stop it.
  bool copy(const Range& range) {
    if (const auto* address = std::get_if<RecordAddress>(&range)) return copy_at(*address);
    const auto& ordinals = std::get<OrdinalRange>(range);
    return ordinals.is_one ? copy_one(ordinals) : copy(ordinals);
  }

 private:
  // A shard that is open for single records.
  struct Current {
    Current(SetMember opened, const CatOptions& options, CommandContext& context)
        : member(std::move(opened)), copier(member, options.form, context), window({}, member.store->source()) {}
    const SetMember member;
    RecordCopier copier;
    ReadWindow window;
  };

  bool copy(const SetMember& member, const Split& split) {
    return RecordCopier(member, options_.form, context_)
        .copy(PassPart{.store = *member.store, .split = split})
        .has_value();
  }

  bool copy_at(const RecordAddress& address) {
    if (!keep(reader_.member(address.shard))) return true;
    const RequestContext reading = RequestContext().with(current_->window);
    const auto record = find(reading, address, *current_->member.store);
    if (record) return current_->copier.copy(reading, *record, std::nullopt);
    context_.print_failure(current_->member.path, record.error());
    return true;
  }

  bool copy_one(const OrdinalRange& range) {
    if (range.begin == 0) return copy(range);
    OrdinalRange local = range;
    if (reader_.has_one_shard()) {
      if (!keep(reader_.member(0, 0))) return false;
    } else {
      const auto place = reader_.locate(range);
      if (!place) return true;
      const auto counts = reader_.set().counts(place->shard);
      if (!counts || !keep(reader_.member(place->shard, counts->first_ordinal))) return true;
      local.begin = static_cast<std::int64_t>(place->ordinal);
    }
    const auto selection = select(local, *current_->member.store);
    if (!selection) {
      reader_.report_unselected(current_->member.path, selection.error());
      return true;
    }
    if (!copy_one(*selection)) return false;
    const std::uint64_t ordinal = current_->member.first_ordinal + selection->records.begin;
    reader_.report_damage_after(range, {.begin = ordinal, .end = ordinal + 1});
    return true;
  }

  bool copy_one(const Selection& selection) {
    // Damage before the first record belongs to it, as it does to a range that begins there.
    if (selection.records.begin == 0) return current_->copier.copy(Selection{.records = selection.records}).has_value();
    const IndexedChunk& indexed = *selection.from;
    const std::uint64_t first = indexed.before.records;
    return current_->copier.copy(RequestContext().with(current_->window),
                                 {indexed.chunk, selection.records.begin - first}, first);
  }

  bool keep(std::optional<SetMember> member) {
    if (!member) return false;
    const bool is_same =
        current_ && current_->member.store == member->store && current_->member.first_ordinal == member->first_ordinal;
    if (!is_same) current_ = std::make_unique<Current>(std::move(*member), options_, context_);
    return true;
  }

  const CatOptions& options_;
  SetReader& reader_;
  CommandContext& context_;
  std::unique_ptr<Current> current_;
};

// Returns whether the words name a database: its directory, or logs and tables of which keys are wanted.
bool names_database(const CatOptions& options) {
  const auto& files = options.words.files;
  return options.view.is_given() || options.keys.is_given() ||
         (files.size() == 1 && is_database_directory(files.front()));
}

// Returns why the options cannot be applied to a database; empty if they can.
std::string_view why_refused(const CatOptions& options) {
  if (options.form.form != RecordForm::kJson || options.array.is_wanted) return "with --json only (try: recordfs get)";
  if (options.words.has_ranges()) return "without a RANGE (try: --from)";
  if (options.split || options.random.is_given()) return "without --split, --shuffle and --sample";
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
  if (const auto reader = DatabaseReader::open(options.words, context)) {
    write_keys(*reader,
               {.view = options.view,
                .keys = options.keys,
                .is_of_all_families = true,
                .json = options.form.json,
                .skips_unreadable = options.form.skips_damage},
               context);
  }
  return context.finish();
}

// A split that cannot be parsed as a part of a data set is a range of a file.
std::optional<std::variant<Split, SetPart>> parse_split_or_part(const std::string& text) {
  if (const auto part = parse_part(text)) return *part;
  if (auto split = parse_split(text)) return std::move(*split);
  return std::nullopt;
}

int cat(const CatOptions& options) {
  std::unique_ptr<Output> skipped;
  if (!options.skipped.empty()) {
    Descriptor file(::open(options.skipped.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file) {
      print_message(fmt::format("{}: {}", options.skipped, std::strerror(errno)));
      return kExitPartlyDone;
    }
    skipped = std::make_unique<Output>(std::move(file), options.skipped);
  }
  CommandContext context(options.reading);
  context.list_skipped_in(std::move(skipped));
  context.decode_with(options.form.types);
  if (options.split) context.distinguish_retries(options.form.skips_damage);
  if (names_database(options)) return cat_database(options, context);
  const auto reader = SetReader::open(options.words, context);
  if (!reader) return context.status();
  Cat copying(options, *reader, context);
  if (options.array.is_wanted) {
    const auto& ranges = options.words.ranges;
    write_array(
        options.array, ranges.empty() ? std::nullopt : std::optional(std::get<OrdinalRange>(ranges.front())), *reader,
        [&] { copying.copy(OrdinalRange{}); }, context);
  } else if (options.split) {
    std::visit([&](const auto& split) { copying.copy(split); }, *options.split);
  } else if (options.random.is_given()) {
    copy_in_random_order(options.random, options.form, *reader, context);
  } else {
    reader->each_range(options.words, [&](const Range& range) { return copying.copy(range); });
  }
  report_absent(options.form.json.fields.get(), context);
  return context.finish();
}

void check_array_options(const CatOptions& options) {
  const auto& ranges = options.words.ranges;
  const bool has_form = options.form.form != RecordForm::kBytes || options.form.skips_damage;
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
  options->form.declare(app);
  app.add_flag(
      "--npy", options->array.is_wanted,
      "write the numpy array that a file holds, as an .npy file; RANGE means rows\n"
      "`numpy.load` reads it. A mount shows the same file as `array.npy`. A RANGE selects rows, which are of the "
      "first dimension, and keeps the number of dimensions.");
  app.add_flag("--flat", options->array.is_flat,
               "with --npy: the elements of all records as one dimension, in stored order\n"
               "This works if the shape that the metadata states does not match the records, as after an append.");
  begin_group(app, "Which records");
  app.add_option_function<std::string>(
         "--split",
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
         "if a retry may succeed.")
      ->type_name("SPLIT");
  app.add_option(
         "--skipped", options->skipped,
         "with --split and --skip-damage: list in F what was skipped, as lines of JSON\n"
         "Each has `file`, `begin`, `end`, `class`, `reason` and `records_lost`; missing shards have `shards` and "
         "`count` instead. F is replaced. Damage that it lists is not counted in the exit status.")
      ->type_name("F");
  options->random.declare(app);
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
