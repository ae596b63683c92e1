#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/amounts.h"
#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/columns/column_table.h"
#include "core/dataset/ask_together.h"
#include "core/dataset/column_totals.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/part_totals.h"
#include "core/dataset/saved_counts.h"
#include "core/dataset/scanned_info.h"
#include "core/dataset/source_spec.h"
#include "core/decoding/json_writer.h"
#include "core/report/size_histogram.h"
#include "core/store/at_once.h"
#include "core/store/container_info.h"
#include "core/store/part_counts.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_options.h"
#include "fusefs/commands/database_table.h"
#include "fusefs/commands/info_tables.h"
#include "fusefs/commands/named_sets.h"
#include "fusefs/commands/record_options.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/where.h"
#include "fusefs/exit_status.h"
#include "fusefs/terminal.h"
#include "fusefs/tree/database/database_info.h"

namespace recordfs {
namespace {

// The sum of several files, of those that could be scanned.
struct FileTotals {
  std::uint64_t files = 0, records = 0, chunks = 0, size = 0, damaged_regions = 0;

  // Adds the results of a scan.
  void add(const JsonObject& info, std::uint64_t scanned) {
    files += scanned;
    records += number_in(info, "records");
    chunks += number_in(info, "chunks");
    size += number_in(info, "size");
    damaged_regions += number_in(info, "damaged_regions");
  }
};

struct InfoOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::string manifest;
  bool json = false;
  bool scan = false;
  bool tags = false;
  bool columns = false;
  ColumnOptions counted{};  // by `columns`
};

// Adds the statistics of columns, unless that fails.
void add_columns(const ColumnTotals& totals, const ColumnStatistics* columns, JsonObject& info) {
  if (columns == nullptr) return;
  info.set("decoded_records", columns->records());
  info.set("undecoded_records", totals.undecoded());
  info.set("columns", columns_list(*columns));
}

void add_records(ColumnTotals& totals, const InfoOptions& options, SetReader& reader) {
  if (options.counted.random.is_given()) return totals.add_sample(reader, options.counted.random);
  totals.add(reader);
}

// Returns the statistics of the columns of a container. Null after printing why there are none.
const ColumnStatistics* columns_of(const std::string& path, const std::shared_ptr<const RecordStore>& store,
                                   const InfoOptions& options, ColumnTotals& totals, CommandContext& context) {
  if (options.counted.random.is_given()) {
    const auto reader = open_set({.files = {path}}, context);
    if (reader == nullptr) return nullptr;
    add_records(totals, options, *reader);
    return finish(totals, path, context);
  }
  DamageReporter damage(path, *store, context);
  return totals.add({.path = path, .store = store}, damage) ? finish(totals, path, context) : nullptr;
}

// Returns the lines after a table.
std::string columns_text(const ColumnStatistics* columns) {
  if (columns == nullptr) return {};
  return fmt::format("\n{} with columns\n", counted(columns->records(), columns->has_scalars() ? "scalar" : "record")) +
         columns_table(*columns);
}

// Returns info.json of a container, with totals if requested.
Result<JsonObject> info_of(const std::string& path, const RecordStore& store, const InfoOptions& options,
                           CommandContext& context) {
  ASSIGN_OR_RETURN(auto info, container_info({}, store));
  DamageReporter reporter(path, store, context);
  if (options.scan) TRY(add_scanned(store, context.threads(), reporter, info));
  if (options.tags) {
    const auto parts = count_parts(store, reporter, context);
    if (parts) info.set("parts", parts_list(*parts));
  }
  return info;
}

// Returns the last line: the number of records if it is known without a scan, and otherwise how to count them. `read`:
// the number if all were read.
std::string records_row(const std::string& path, const RecordStore& store, const JsonObject& info,
                        const std::optional<std::uint64_t>& read, CommandContext& context) {
  for (const char* const name : {"records", "num_records"}) {
    if (info.find(name) != nullptr) return row("records", text_in(info, name));
  }
  const auto records = read ? read : known_records(store, context.services(), Location(path));
  return row("records", records ? fmt::format("{}", *records) : "not counted (try: recordfs info --scan)");
}

std::string total_line(const FileTotals& totals) {
  return row("total", fmt::format("{}, {}, {}, {}, {}", counted(totals.files, "file"),
                                  counted(totals.records, "record"), counted(totals.chunks, "chunk"),
                                  in_units(totals.size), counted(totals.damaged_regions, "damaged region")));
}

// Returns the row with the histogram of record sizes. Reads the sizes of all records.
std::string sizes_row(const std::string& path, const RecordStore& store, CommandContext& context) {
  const auto sizes = sizes_of(store, context.threads());
  if (!sizes) {
    context.report_failure(path, sizes.error());
    return {};
  }
  if (sizes->count() == 0) return {};
  return row("record sizes",
             fmt::format("{} {} {}, median {}", short_size(sizes->smallest()), block_line(sizes->bars(), shows_utf8()),
                         short_size(sizes->largest()), short_size(sizes->quantile(0.5))));
}

// --- data sets

// Returns the line of JSON.
std::string line_of(const std::string& path, JsonObject info) {
  info.members.insert(info.members.begin(), {"file", JsonPath{path}});
  return to_json(info, JsonLayout::kLine);
}

// Returns nullopt if that fails.
std::optional<std::string> info_text(const std::string& word, const RecordWords& words, const InfoOptions& options,
                                     CommandContext& context, FileTotals& totals) {
  const auto reader = open_set(words, context);
  auto known = reader ? set_info(*reader) : std::nullopt;
  if (!known) return std::nullopt;
  if (number_in(*known, "damaged_regions") > 0) context.note(kExitDamage);
  totals.add(*known, number_in(*known, "shards") - number_in(*known, "missing") - number_in(*known, "unreadable"));
  const auto parts = options.tags ? parts_of(*reader, context) : std::nullopt;
  ColumnTotals columns(options.counted, context);
  if (options.columns) add_records(columns, options, *reader);
  const auto* const counted = options.columns ? finish(columns, word, context) : nullptr;
  if (!options.json) {
    return table_of_set(word, *known) + (parts ? parts_table(parts_list(*parts)) : "") + columns_text(counted);
  }
  if (parts) known->set("parts", parts_list(*parts));
  add_columns(columns, counted, *known);
  return line_of(word, std::move(*known));
}

// --- all

// Finds what is wrong with tables as a whole.
void open_tables(const std::string& path, const DatabaseReader& reader, CommandContext& context) {
  const unsigned threads = Location(path).is_local() ? context.threads() : unsigned{kAskedTogether};
  const auto at_once = [threads](std::size_t count, const auto& call) { call_at_once(threads, count, call); };
  if (const auto opened = reader.source().open_tables({}, at_once); !opened) reader.report_end(opened.error());
}

// Returns nullopt if that fails.
std::optional<std::string> info_text(const std::string& path, const InfoOptions& options, CommandContext& context,
                                     FileTotals& totals) {
  if (is_directory(path)) {
    const auto reader = open_database({.files = {path}}, context);
    if (!reader) return std::nullopt;
    open_tables(path, *reader, context);
    reader->report_problems();
    if (options.columns) {
      context.fail(kExitPartlyDone, printable(path) + ": a database has keys, and no columns (try: recordfs keys)");
    }
    const auto parts =
        options.tags
            ? std::optional(parts_list(parts_of(
                  reader->source(), path, [&](const std::string& file) { return context.open(file); }, context)))
            : std::nullopt;
    if (!options.json) return database_table(path, *reader) + (parts ? parts_table(*parts) : "");
    JsonObject known = database_info(reader->source());
    if (parts) known.set("parts", *parts);
    return line_of(path, std::move(known));
  }
  const auto store = context.open(path);
  if (!store) return std::nullopt;
  auto known = info_of(path, *store, options, context);
  if (!known) {
    context.report_failure(path, known.error());
    return std::nullopt;
  }
  if (options.scan) totals.add(*known, 1);
  ColumnTotals columns(options.counted, context);
  const auto* const counted = options.columns ? columns_of(path, store, options, columns, context) : nullptr;
  if (options.json) {
    add_columns(columns, counted, *known);
    return line_of(path, std::move(*known));
  }
  const bool has_read_all = counted != nullptr && !options.counted.random.is_given();
  const auto read = has_read_all ? std::optional(columns.records()) : std::nullopt;
  std::string table = table_of(path, *known) + records_row(path, *store, *known, read, context);
  if (options.scan && ::isatty(STDOUT_FILENO) == 1) table += sizes_row(path, *store, context);
  return table + columns_text(counted);
}

// Asks servers about the first files, whose first reads are requested at once.
void expect_files(std::span<const std::string> files, CommandContext& context) {
  for (const std::string& file : files.first(std::min(files.size(), kAskedTogether))) {
    expect_open({}, Location(file), std::nullopt, context.services());
  }
  ask_together(files);
}

int info(const InfoOptions& options) {
  CommandContext context(options.reading);
  context.require_metadata();
  if (options.columns) context.decode_with(options.counted.types);
  Output& output = context.output();
  std::string_view separator;  // of tables
  const bool is_only = options.files.size() + (options.manifest.empty() ? 0 : 1) == 1;
  const auto write = [&](const std::optional<std::string>& text) {
    if (!text) return;
    if (!options.json) output.write(std::exchange(separator, "\n"));
    output.write(*text);
    output.flush();
  };
  FileTotals totals;
  // The shards are listed whether they are complete or not.
  if (!options.manifest.empty()) {
    const RecordWords words{.manifest = options.manifest, .allows_missing = true, .reports_missing = true};
    write(info_text(options.manifest, words, options, context, totals));
  }
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    if (i % kAskedTogether == 0) expect_files(std::span(options.files).subspan(i), context);
    const std::string& word = options.files[i];
    const RecordWords words{.files = {word}, .allows_missing = true, .reports_missing = true};
    const auto kind = SourceSpec{.words = {word}}.kind();
    const bool is_set = kind == SourceSpec::Kind::kDataSet || kind == SourceSpec::Kind::kDirectory;
    write(is_set ? info_text(word, words, options, context, totals) : info_text(word, options, context, totals));
  }
  if (options.scan && !options.json && !is_only) write(total_line(totals));
  return context.finish();
}

}  // namespace

RunCommand declare_info(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();
  declare_sets(app, options->files, options->manifest);
  app.add_flag("--json", options->json, "print info.json of a mount, one line per FILE, with \"file\"");
  app.add_flag("--scan", options->scan,
               "scan the headers, and add totals: chunks, records, decoded bytes, damage\n"
               "The damage is that of headers. This does not check records; `verify` does. In JSON, `damage_scope` is "
               "`headers`. If metadata changes along the file, lists the first 1000 changes, in JSON as "
               "`later_metadata`. The table of several files ends with a line of totals. On a terminal, also draws how "
               "many records have which size, on a logarithmic scale, which takes as long as `ls`.");
  app.add_flag(
      "--tags", options->tags,
      "count the parts of all records: tags, entries, features, operations\n"
      "They are counted by name and type. A part is named as below `inside/ORDINAL` of a mount. Of databases, "
      "the changes of keys are counted by kind: of a directory, all that its live tables and logs store. Of "
      "logs of training, only the tags of scalars are counted, with the first and the last step. This reads all "
      "records. In JSON, the list is `parts`. At most 1000 rows are kept; the rest is counted together. A file whose "
      "records have no parts is reported, with exit status 5.");
  auto* const columns = app.add_flag(
      "--columns", options->columns,
      "count the values of the columns of all records\n"
      "The columns are the fields of decoded records, with the names of `--where`. Each has its type, the number of "
      "records that have a value and of those that do not, the mean number of values of lists, the mean size of texts "
      "and bytes, the smallest and the largest value, and how many values are different. Of columns that repeat "
      "values, the ten most frequent ones follow; in JSON, `columns` has all, up to 1000 a column, and fewer if there "
      "are more than 262 columns. Texts and bytes of more than 128 bytes are cut. This reads all records. Those that "
      "cannot be decoded are left out and reported, with exit status 5.");
  begin_group(app, "Columns");
  declare_where(app, options->counted.condition);
  declare_types(
      app, options->counted.types, [options = options.get()] { return options->columns; }, "--columns");
  app.get_option("--where")->needs(columns);
  declare_sample(app, options->counted.random,
                 "only N records, chosen at random\n"
                 "Each set of N records is as likely as any other; with `--where`, of the selected ones.")
      ->needs(columns);
  begin_group(app, "Databases");
  options->reading.declare_database(app);
  options->reading.declare(app);
  app.footer(
      "For a data set, prints totals, the totals of each format, and a table of the shards. Record counts "
      "come from saved indexes, or from header scans that run in parallel. Each FILE is a data set of its own.");
  return [options] { return info(*options); };
}

}  // namespace recordfs
