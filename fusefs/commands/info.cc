#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/dataset/ordered_pass.h"
#include "core/dataset/source_spec.h"
#include "core/decoding/json_writer.h"
#include "core/store/container_info.h"
#include "core/store/part_counts.h"
#include "core/store/wait_ticket.h"
#include "fusefs/commands/amounts.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/damage_reporter.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/database_table.h"
#include "fusefs/commands/part_totals.h"
#include "fusefs/commands/record_words.h"
#include "fusefs/commands/report/size_histogram.h"
#include "fusefs/commands/set_reader.h"
#include "fusefs/exit_status.h"
#include "fusefs/terminal.h"
#include "fusefs/tree/database/database_info.h"

namespace recordfs {
namespace {

// The table shows damage_scope with the damaged regions, and leaves the mount's metadata/ out.
bool is_in_json_only(std::string_view key) { return key == "metadata_directory_scope" || key == "damage_scope"; }

// The sum of several files, of those that could be scanned.
struct FileTotals {
  std::uint64_t files = 0, records = 0, chunks = 0, size = 0, damaged_regions = 0;

  // Adds the results of a scan.
  void add(const JsonObject& info) {
    const auto number = [&info](std::string_view name) {
      const JsonObject::Content* content = info.find(name);
      const auto* value = content != nullptr ? std::get_if<std::uint64_t>(content) : nullptr;
      return value != nullptr ? *value : 0;
    };
    ++files;
    records += number("records");
    chunks += number("chunks");
    size += number("size");
    damaged_regions += number("damaged_regions");
  }

  void add(const DataSetTotals& set, std::uint64_t shards) {
    files += shards;
    records += set.records;
    chunks += set.chunks;
    size += set.stored;
    damaged_regions += set.damaged_regions;
  }
};

struct InfoOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  std::string manifest;
  bool json = false;
  bool scan = false;
  bool tags = false;
};

// Returns the metadata values that differ from those of the chunk before, in the container's order.
Result<JsonObject::List> later_metadata(const RecordStore& store, unsigned threads) {
  constexpr std::size_t kMost = 1000;
  JsonObject::List later;
  std::optional<std::map<std::string, std::string>> current;
  std::optional<Error> failure;
  const auto compare = [&](const ChunkInfo& chunk) {
    auto attributes = store.metadata()->attributes_at({}, chunk);
    if (!attributes) {
      if (!is_permanent(attributes.error().code)) failure = std::move(attributes).error();
      return !failure;
    }
    const bool is_first = !current;
    if (is_first) current.emplace();
    for (Attribute& attribute : *attributes) {
      std::string& value = (*current)[attribute.key];
      if (!is_first && value != attribute.value) {
        later.push_back(std::move(list_of(std::vector<Attribute>{attribute}).front()));
        later.back().set("begin", chunk.begin);
      }
      value = std::move(attribute.value);
    }
    return later.size() < kMost;
  };
  TRY(read_part({.store = store}, {.threads = threads},
                [&](const RequestContext&, const ScannedStep& step) -> OrderedResult {
                  if (!step.indexed) return {};
                  return [&compare, chunk = step.indexed->chunk] { return compare(chunk); };
                }));
  if (failure) return std::move(*failure);
  return later;
}

// Adds the results of a full scan, and reports damage.
Result<void> add_scanned(const RecordStore& store, CommandContext& context, DamageReporter& reporter,
                         JsonObject& info) {
  ASSIGN_OR_RETURN(const auto totals, wait_for([&] { return store.index().totals(ScanDetail::kSizes); }));
  ASSIGN_OR_RETURN(const auto damage, wait_for([&] { return store.index().damage(); }));
  for (const DamageRow& row : *damage) reporter.add(row.region);
  add_totals(info, store, totals, *damage);
  if (store.metadata() != nullptr && store.metadata()->varies()) {
    ASSIGN_OR_RETURN(auto later, later_metadata(store, context.threads()));
    info.set("later_metadata", std::move(later));
  }
  if (const std::uint64_t size = store.source().size(); size > 0) {
    info.set("ratio", std::round(100.0 * static_cast<double>(totals.bytes) / static_cast<double>(size)) / 100);
  }
  return {};
}

// Returns info.json of a container, with totals if requested.
Result<JsonObject> info_of(const std::string& path, const RecordStore& store, const InfoOptions& options,
                           CommandContext& context) {
  ASSIGN_OR_RETURN(auto info, container_info({}, store));
  DamageReporter reporter(path, store, context);
  if (options.scan) TRY(add_scanned(store, context, reporter, info));
  if (options.tags && PartCounts::has(store.schema())) {
    const auto parts = count_parts(store, reporter, context);
    if (parts) info.set("parts", parts_list(*parts));
  }
  return info;
}

std::string in_units(std::uint64_t bytes) {
  const std::string short_form = short_size(bytes);
  return bytes < 1024 ? short_form : fmt::format("{} ({})", counted(bytes, "byte"), short_form);
}

struct InWords {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{:#}", value); }
  std::string operator()(const std::string& value) const { return printable(value); }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

std::string text_of(const JsonObject::Content* content) { return std::visit(InWords{}, *content); }

std::string row(std::string_view name, const std::string& value) { return fmt::format("{:<16} {}\n", name, value); }

std::string row_of(std::string_view name, const JsonObject& first_chunk) {
  const std::string records = text_of(first_chunk.find("records"));
  return row(name, fmt::format("{} at byte {}{}", text_of(first_chunk.find("kind")), text_of(first_chunk.find("begin")),
                               records.empty() ? "" : ", records: " + records));
}

// Returns the value of an item of the metadata, if it is a number or short text; otherwise its size in parentheses.
std::string value_of(const JsonObject& item) {
  constexpr std::size_t kShown = 60;  // bytes
  std::string size = fmt::format(" ({})", in_units(std::get<std::uint64_t>(*item.find("size"))));
  if (const auto* const number = item.find("value")) return ": " + text_of(number);
  const auto* const content = item.find("text");
  const std::string text = content == nullptr ? std::string() : std::get<std::string>(*content);
  if (text.empty()) return size;
  if (text.size() <= kShown) return ": " + printable(text);
  std::size_t shown = 0;
  for (std::size_t next = 0; next <= kShown; next += utf8_character(std::string_view(text).substr(next))) shown = next;
  return fmt::format(": {}...{}", printable(text.substr(0, shown)), size);
}

// One row per key.
std::string row_of(std::string_view name, const JsonObject::List& metadata) {
  if (metadata.empty()) return row(name, "none");
  std::string rows;
  for (const JsonObject& item : metadata) {
    const auto* const begin = item.find("begin");
    const std::string place = begin == nullptr ? "" : fmt::format(", from byte {} on", text_of(begin));
    rows += row(rows.empty() ? name : "", text_of(item.find("key")) + value_of(item) + place);
  }
  return rows;
}

std::string table_of(const std::string& path, const JsonObject& info) {
  std::string table = row("file", printable(path));
  for (const auto& [key, content] : info.members) {
    std::string name = key;
    std::ranges::replace(name, '_', ' ');
    if (key == "parts") {
      table += parts_table(std::get<JsonObject::List>(content));
    } else if (const auto* const list = std::get_if<JsonObject::List>(&content)) {
      table += row_of(name, *list);
    } else if (const auto* const chunk = std::get_if<JsonObject>(&content)) {
      table += row_of(name, *chunk);
    } else if (key == "damaged_regions") {
      table += row(name, text_of(&content) + " (headers only; run recordfs verify to check the records)");
    } else if (key == "damaged_bytes" && std::get<std::uint64_t>(content) == 0) {
      continue;  // the line above says all of it
    } else if (key == "size" || key == "decoded") {
      table += row(name, in_units(std::get<std::uint64_t>(content)));
    } else if (!is_in_json_only(key)) {
      table += row(name, text_of(&content));
    }
  }
  return table;
}

std::string total_line(const FileTotals& totals) {
  return row("total", fmt::format("{}, {}, {}, {}, {}", counted(totals.files, "file"),
                                  counted(totals.records, "record"), counted(totals.chunks, "chunk"),
                                  in_units(totals.size), counted(totals.damaged_regions, "damaged region")));
}

// Returns the sizes of all records that can be read. Fails as read_part() does.
Result<SizeHistogram> sizes_of(const RecordStore& store, unsigned threads) {
  SizeHistogram sizes;
  TRY(read_part({.store = store}, {.threads = threads},
                [&](const RequestContext& context, const ScannedStep& step) -> OrderedResult {
                  if (!step.indexed) return {};
                  const auto layout = layout_of(context, store, step.indexed->chunk);
                  if (!layout) return {};
                  const auto of_chunk = std::make_shared<SizeHistogram>();
                  for (std::uint64_t i = 0; i < (*layout)->records(); ++i) {
                    if ((*layout)->failure(i) == nullptr) of_chunk->add((*layout)->extent(i).size);
                  }
                  return [&sizes, of_chunk] {
                    sizes.add(*of_chunk);
                    return true;
                  };
                }));
  return sizes;
}

// Returns the row with the histogram of record sizes. Reads the sizes of all records.
std::string sizes_row(const std::string& path, const RecordStore& store, CommandContext& context) {
  const auto sizes = sizes_of(store, context.threads());
  if (!sizes) {
    context.print_failure(path, sizes.error());
    return {};
  }
  if (sizes->count() == 0) return {};
  return row("record sizes",
             fmt::format("{} {} {}, median {}", short_size(sizes->smallest()), block_line(sizes->bars(), shows_utf8()),
                         short_size(sizes->largest()), short_size(sizes->quantile(0.5))));
}

// --- data sets

// The shards of one format.
struct FormatSums {
  std::uint64_t shards = 0, records = 0, stored = 0;
};

// A shard, or consecutive missing ones.
struct ShardRow {
  std::size_t shard = 0;               // the first one
  const MissingShards* gap = nullptr;  // of several missing ones
  Result<ShardCounts> counts;
};

// What is known of a data set once its records are counted.
struct SetInfo {
  std::vector<ShardRow> rows{};
  std::map<std::string_view, FormatSums> formats{};
  std::uint64_t missing = 0;
  std::vector<MissingShards> gaps{};
  DataSetTotals totals;
};

// Returns nullopt if counting failed.
std::optional<SetInfo> info_of(SetReader& reader) {
  if (!reader.records()) return std::nullopt;
  DataSet& set = reader.set();
  SetInfo info{.missing = set.missing(), .totals = set.progress().totals};
  info.gaps = missing_shards(set.size(), [&set](std::size_t i) -> const Shard& { return set.shard(i); });
  auto gap = info.gaps.begin();
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set.shard(i).is_missing) {
      if (gap == info.gaps.end() || gap->first != i) continue;
      info.rows.push_back({.shard = i,
                           .gap = gap->numbers.empty() ? nullptr : &*gap,
                           .counts = Error{.code = Code::kNotFound, .detail = "missing"}});
      ++gap;
      continue;
    }
    auto counts = set.counts(i);
    if (auto failure = set.failure(i)) {
      counts = std::move(*failure);
    } else {
      FormatSums& sums = info.formats[counts->format];
      ++sums.shards;
      sums.records += counts->records;
      sums.stored += counts->stored;
    }
    info.rows.push_back({.shard = i, .counts = std::move(counts)});
  }
  return info;
}

// A missing shard has no byte to name.
std::string reason(const Error& why) { return why.code == Code::kNotFound ? why.detail : to_string(why); }

JsonObject json_of(const SetInfo& info, const DataSet& set) {
  JsonObject::List formats;
  for (const auto& [name, sums] : info.formats) {
    JsonObject& format = formats.emplace_back();
    format.set("format", name);
    format.set("shards", sums.shards);
    format.set("records", sums.records);
    format.set("size", sums.stored);
  }
  JsonObject::List shards;
  for (const auto& [number, gap, counts] : info.rows) {
    JsonObject& shard = shards.emplace_back();
    if (gap != nullptr) {
      shard.set("shards", gap->numbers);
      shard.set("count", std::uint64_t{gap->count});
    } else {
      shard.set("shard", JsonPath{std::string(set.name(number))});
    }
    if (!counts) {
      shard.set("error", reason(counts.error()));
      continue;
    }
    shard.set("format", counts->format);
    shard.set("first_ordinal", counts->first_ordinal);
    shard.set("records", counts->records);
    shard.set("chunks", counts->chunks);
    shard.set("size", counts->stored);
    shard.set("damaged_regions", counts->damaged_regions);
  }
  JsonObject json;
  json.set("shards", std::uint64_t{set.size()});
  json.set("missing", info.missing);
  json.set("unreadable", info.totals.unopened - info.missing);
  json.set("records", info.totals.records);
  json.set("chunks", info.totals.chunks);
  json.set("size", info.totals.stored);
  json.set("damaged_regions", info.totals.damaged_regions);
  json.set("formats", std::move(formats));
  json.set("table", std::move(shards));
  return json;
}

std::string table_of(const std::string& name, const SetInfo& info, const DataSet& set) {
  std::string table = row("data set", printable(name));
  table += row("shards", fmt::format("{} ({} missing, {} unreadable)", set.size(), info.missing,
                                     info.totals.unopened - info.missing));
  for (const auto& [format, sums] : info.formats) {
    table += row("format", fmt::format("{}: {}, {}, {}", format, counted(sums.shards, "shard"),
                                       counted(sums.records, "record"), in_units(sums.stored)));
  }
  table += row("size", in_units(info.totals.stored));
  table += row("records", fmt::format("{}", info.totals.records));
  table += row("damaged regions",
               fmt::format("{} (headers only; run recordfs verify to check the records)", info.totals.damaged_regions));
  table += fmt::format("\n{:>12} {:>11} {:>14}  {:<13} {}\n", "first", "records", "bytes", "format", "shard");
  for (const auto& [number, gap, counts] : info.rows) {
    const std::string shard =
        gap == nullptr ? printable(set.name(number)) : fmt::format("{} ({})", gap->numbers, gap->count);
    if (counts) {
      table += fmt::format("{:>12} {:>11} {:>14}  {:<13} {}{}\n", counts->first_ordinal, counts->records,
                           counts->stored, counts->format, shard, counts->damaged_regions > 0 ? " (damaged)" : "");
    } else {
      table += fmt::format("{:>12} {:>11} {:>14}  {:<13} {} ({})\n", "-", "-", "-", "-", shard,
                           printable(reason(counts.error())));
    }
  }
  return table;
}

// Returns nullopt if that fails.
std::optional<std::string> info_text(const std::string& word, const RecordWords& words, const InfoOptions& options,
                                     CommandContext& context, FileTotals& totals) {
  const auto reader = SetReader::open(words, context);
  const auto known = reader ? info_of(*reader) : std::nullopt;
  if (!known) return std::nullopt;
  if (known->totals.damaged_regions > 0) context.note(kExitDamage);
  totals.add(known->totals, reader->set().size() - known->totals.unopened);
  const auto parts = options.tags ? parts_of(*reader, context) : std::nullopt;
  if (!options.json) return table_of(word, *known, reader->set()) + (parts ? parts_table(parts_list(*parts)) : "");
  JsonObject json = json_of(*known, reader->set());
  if (parts) json.set("parts", parts_list(*parts));
  json.members.insert(json.members.begin(), {"file", JsonPath{word}});
  return to_json(json, JsonLayout::kLine);
}

// --- all

// Returns nullopt if that fails.
std::optional<std::string> info_text(const std::string& path, const InfoOptions& options, CommandContext& context,
                                     FileTotals& totals) {
  const auto json_of = [&](JsonObject info) {
    info.members.insert(info.members.begin(), {"file", JsonPath{path}});
    return to_json(info, JsonLayout::kLine);
  };
  if (is_directory(path)) {
    const auto reader = DatabaseReader::open({.files = {path}}, context);
    if (!reader) return std::nullopt;
    reader->report_problems();
    const auto parts = options.tags ? std::optional(parts_list(parts_of(*reader, path, context))) : std::nullopt;
    if (!options.json) return database_table(path, *reader) + (parts ? parts_table(*parts) : "");
    JsonObject known = database_info(reader->source());
    if (parts) known.set("parts", *parts);
    return json_of(std::move(known));
  }
  const auto store = context.open(path);
  if (!store) return std::nullopt;
  auto known = info_of(path, *store, options, context);
  if (!known) {
    context.print_failure(path, known.error());
    return std::nullopt;
  }
  if (options.scan) totals.add(*known);
  if (options.json) return json_of(std::move(*known));
  std::string table = table_of(path, *known);
  if (options.scan && ::isatty(STDOUT_FILENO) == 1) table += sizes_row(path, *store, context);
  return table;
}

int info(const InfoOptions& options) {
  CommandContext context(options.reading);
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
  for (const std::string& word : options.files) {
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
  app.add_flag("--tags", options->tags,
               "count the parts of all records: tags, entries, features, operations\n"
               "They are counted by name and type. A part is named as below `inside/ORDINAL` of a mount. Of databases, "
               "the changes of keys are counted by kind: of a directory, all that its live tables and logs store. This "
               "reads all records. In JSON, the list is `parts`. At most "
               "1000 rows are kept; the rest is counted together.");
  begin_group(app, "Databases");
  options->reading.declare_database(app);
  options->reading.declare(app);
  app.footer(
      "For a data set, prints totals, the totals of each format, and a table of the shards. Record counts "
      "come from saved indexes, or from header scans that run in parallel. Each FILE is a data set of its own.");
  return [options] { return info(*options); };
}

}  // namespace recordfs
