#include "fusefs/commands/export_options.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "core/output/output_place.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/record_options.h"

namespace recordfs {
namespace {

void check(const ExportOptions& options) {
  if (options.output.empty()) throw CLI::RequiredError("-o");
  if (!options.form()) {
    const std::string& name = options.form_name.empty() ? options.output : options.form_name;
    std::vector<std::string_view> names;
    for (const ExportFormat& format : export_formats()) names.push_back(format.name);
    throw CLI::ValidationError(options.form_name.empty() ? "-o" : "--to",
                               fmt::format("no known format: {} (the formats are {})", name, fmt::join(names, ", ")));
  }
  const bool is_stream = descriptor_named(options.output).has_value();
  if (options.sharding.shards && options.sharding.size) {
    throw CLI::ValidationError("only one of --shards and --shard-size can be given");
  }
  if (options.sharding.is_given() && is_stream) throw CLI::ValidationError("--shards", "needs a file, not -o -");
  if (options.sharding.shards && options.words.reads_ranges) {
    throw CLI::ValidationError("--shards", "excludes -r - (try: --shard-size)");
  }
  if (options.random.is_given() && options.words.has_ranges()) {
    throw CLI::ValidationError("only one of RANGE and --shuffle or --sample can be given");
  }
  const auto content = options.form()->format->content;
  const bool has_columns = content == ExportFormat::Content::kTable || content == ExportFormat::Content::kRows;
  if (!options.columns.selection.is_all() && !has_columns) {
    throw CLI::ValidationError("--select", "is for tables and JSON Lines: csv, tsv, parquet, arrow, jsonl");
  }
  if (options.columns.scans && !has_columns)
    throw CLI::ValidationError("--scan-columns", "is for formats with columns");
  if (options.columns.lists && !has_columns) throw CLI::ValidationError("--lists", "is for formats with columns");
  const bool has_byte_option = options.mixed == nullptr;
  if (has_byte_option && !options.form()->format->has_byte_form) {
    throw CLI::ValidationError("--bytes", "is for texts: jsonl, csv, tsv");
  }
  if (!options.members.empty() && content != ExportFormat::Content::kMembers) {
    throw CLI::ValidationError("--member", "is for archives: tar");
  }
  if (options.key && content != ExportFormat::Content::kMembers) {
    throw CLI::ValidationError("--key", "is for archives: tar");
  }
}

// Returns the lines of the manual about the formats.
std::string text_of_formats() {
  std::string text;
  for (const ExportFormat& format : export_formats()) {
    std::string names = fmt::format("`{}`", format.name);
    for (const std::string_view suffix : format.suffixes) names += fmt::format(", `{}`", suffix);
    std::string codecs;
    for (const FileCodec codec : format.codecs) {
      codecs += fmt::format("{}`.{}`", codecs.empty() ? "" : " or ", codec == FileCodec::kGzip ? "gz" : "zst");
    }
    if (!codecs.empty()) codecs = fmt::format(" ({} compresses the file)", codecs);
    text += fmt::format("{}{}: {}{}.", text.empty() ? "" : " ", names, format.text, codecs);
  }
  return text;
}

void declare_output(CLI::App& app, ExportOptions& options) {
  begin_group(app, "Output");
  declare_value(
      app, "-o,--output", "OUT", options.output,
      "the file to write, whose name tells the format; - is standard output\n"
      "The file gets its name once it is complete and on the disk. After a failure, or a signal, nothing of it "
      "is left. Pipes and devices are written to directly.");
  declare_value(app, "--to", "FORMAT", options.form_name,
                "the format, if the name does not tell it: jsonl, jsonl.gz, ...\n" + text_of_formats());
  app.add_flag("-f,--force", options.replaces,
               "replace existing files\n"
               "Symbolic links are replaced too. Without this option existing files are not changed, and the exit "
               "status is 5.");
  declare_value(
      app, "--shards", "N",
      [&options](const std::string& text) {
        constexpr std::uint64_t kMost = 99999;
        options.sharding.shards = number_of("--shards", text, kMost);
        if (options.sharding.shards == 0u) throw CLI::ValidationError("--shards", "not a number from 1: " + text);
      },
      "write N files, with about as many records each\n"
      "They are named after OUT: `train.jsonl` becomes `train-00000-of-00016.jsonl` and so on. Each has consecutive "
      "records, so the files have them in the same order as the source. They get their names together, once all are "
      "complete. With --where, the records are read twice, because they are counted first.");
  declare_size(
      app, "--shard-size", 1, [&options](std::uint64_t size) { options.sharding.size = size; },
      "write files of about SIZE each, named as with --shards\n"
      "A file ends before the record that would make it larger, except that what a codec has not written yet is not "
      "counted.");
}

void declare_rows(CLI::App& app, ExportOptions& options) {
  begin_group(app, "Records");
  declare_where(app, options.condition);
  declare_random(app, options.random);
  declare_value(
      app, "--select", "COLUMNS",
      [&options](const std::string& text) {
        auto selection = ColumnSelection::parse(text);
        if (!selection) throw CLI::ValidationError("--select", selection.error().detail);
        options.columns.selection = std::move(*selection);
      },
      "of tables and JSON Lines: only these columns, in this order, as a,b\n"
      "A name with a comma is in double quotes: `'\"a,b\",c'`. Tables do not look at values of other columns. `a.b` is "
      "the field "
      "b of the message or object a, unless a column has that name; it is a list if a or b is one.");
  app.add_flag(
      "--lists", options.columns.lists,
      "each feature of a tensorflow.Example is a list\n"
      "Otherwise a feature is a single value, or null, if none of the first 1,024 records has several values of "
      "it, or an empty list. A later record with several cannot be exported.");
  app.add_flag("--scan-columns", options.columns.scans,
               "all records decide which columns there are\n"
               "Otherwise the first 1,024 do, and a later record with another column, or with a value of another type, "
               "cannot be exported. With this option, the records are read twice.");
  declare_value(
      app, "--member", "MEMBERS",
      [&options](const std::string& text) {
        for (std::string_view rest = text;; rest.remove_prefix(1)) {
          auto member = TarMember::take(rest);
          if (!member) throw CLI::ValidationError("--member", member.error().detail);
          const auto is_same = [&](const TarMember& other) { return other.name == member->name; };
          if (std::ranges::any_of(options.members, is_same)) {
            throw CLI::ValidationError("--member", "two members have the same name: " + member->name);
          }
          options.members.push_back(std::move(*member));
          if (rest.empty()) return;
        }
      },
      "of archives: the members of each record, as jpg=image/encoded,cls=label\n"
      "A member is named `ORDINAL.NAME`, or as --key says, and has a part of the record, by its path in inside/ of a "
      "mount, as for `cp "
      "--part`; without a path it is the whole record. Default: `bin`, the record. A record that lacks a part cannot "
      "be "
      "exported.");
  declare_value(
      app, "--key", "COLUMN",
      [&options](const std::string& text) {
        std::string_view rest = text;
        auto name = take_name(rest);
        if (!name || name->empty() || !rest.empty()) {
          throw CLI::ValidationError("--key", "not a column: " + text);
        }
        options.key = std::move(*name);
      },
      "of archives: name the members after a column, a text or a number, instead of the ordinal\n"
      "A record cannot be exported if it has no value of the column or several, or if the value is empty, not UTF-8, "
      "too long for a name of 100 bytes, has a dot, a slash or a control character, or is that of an earlier record "
      "of the same archive.");
  declare_value(
      app, "--bytes", "FORM",
      [&options](const std::string& word) {
        options.bytes = byte_form_of(word);
        options.mixed.reset();
      },
      "how bytes are written in rows: auto (text or base64), base64 or hex\n"
      "By default, bytes are text if they are UTF-8, and otherwise base64, and a column that has both cannot be "
      "exported. "
      "With `auto` it may have both. With another FORM all bytes have that form, which no text can be mistaken for.");
  declare_types(
      app, options.types,
      [&options] {
        const auto form = options.form();
        const bool has_columns = !form || form->format->content == ExportFormat::Content::kRows ||
                                 form->format->content == ExportFormat::Content::kTable;
        return has_columns || options.condition != nullptr || options.key;
      },
      "formats with columns, for --where and --key");
  app.add_flag("--skip-damage", options.skips_damage,
               "omit records that cannot be read or exported, and write the others (exit status 4 or 5)\n"
               "The status is 4 if a record cannot be read, and 5 if all can be read, but some do not fit the output. "
               "Without this option the output is not written in either case.");
}

}  // namespace

void ExportOptions::declare(CLI::App& app) {
  declare_words(app, words, WordUse::kFilesAndRanges, "which records (default: all)", [this] { check(*this); });
  declare_output(app, *this);
  declare_rows(app, *this);
  reading.declare(app);
  app.footer(std::string(kRangeHelp) +
             "\nWithout a RANGE, exports all records. Several files are one data set, in the order given. Formats with "
             "columns "
             "get those of each record: the fields of its message, the members of its JSON, or the features of a "
             "tensorflow.Example by their own names. If none of the first 1,024 records has columns, the columns are "
             "ordinal and "
             "data. The same input gives the same bytes with any number of threads.");
}

}  // namespace recordfs
