#include <algorithm>
#include <array>
#include <cmath>
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
#include "core/decoding/json_writer.h"
#include "core/store/wait_ticket.h"
#include "fusefs/commands/command.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_info.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/scan.h"
#include "fusefs/tree/generated_files.h"

namespace recordfs {
namespace {

// The table shows damage_scope with the damaged regions, and leaves the mount's metadata/ out.
bool is_in_json_only(std::string_view key) { return key == "metadata_directory_scope" || key == "damage_scope"; }

struct InfoOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  bool json = false;
  bool scan = false;
};

// Adds the results of a full scan, and reports damage.
Result<void> add_scanned(const std::string& path, const RecordStore& store, CommandContext& context, JsonObject& info) {
  ASSIGN_OR_RETURN(const auto totals, wait_for([&] { return store.index().totals(ScanDetail::kSizes); }));
  ASSIGN_OR_RETURN(const auto damage, wait_for([&] { return store.index().damage(); }));
  DamageReporter reporter(path, store, context);
  for (const DamageRow& row : *damage) reporter.add(row.region);
  add_totals(info, store, totals, *damage);
  if (const std::uint64_t size = store.source().size(); size > 0) {
    info.set("ratio", std::round(100.0 * static_cast<double>(totals.bytes) / static_cast<double>(size)) / 100);
  }
  return {};
}

// Returns info.json of a container, with totals if requested.
Result<JsonObject> info_of(const std::string& path, const RecordStore& store, const InfoOptions& options,
                           CommandContext& context) {
  ASSIGN_OR_RETURN(auto info, container_info({}, store));
  if (options.scan) {
    TRY(add_scanned(path, store, context, info));
  }
  return info;
}

std::string in_units(std::uint64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return counted(bytes, "byte");
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (amount >= 1024) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{} ({:.1f} {})", counted(bytes, "byte"), amount, kUnits[unit]);
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

// One row per key.
std::string row_of(std::string_view name, const JsonObject::List& metadata) {
  if (metadata.empty()) return row(name, "none");
  std::string rows;
  for (const JsonObject& item : metadata) {
    const auto size = std::get<std::uint64_t>(*item.find("size"));
    const std::string key = fmt::format("{} ({})", text_of(item.find("key")), in_units(size));
    rows += row(rows.empty() ? name : "", key);
  }
  return rows;
}

std::string table_of(const std::string& path, const JsonObject& info) {
  std::string table = row("file", printable(path));
  for (const auto& [key, content] : info.members) {
    std::string name = key;
    std::ranges::replace(name, '_', ' ');
    if (const auto* const list = std::get_if<JsonObject::List>(&content)) {
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

// Returns the text for a path, or nullopt after printing why there is none.
std::optional<std::string> text_of(const std::string& path, const InfoOptions& options, CommandContext& context) {
  const auto json_of = [&](JsonObject info) {
    if (options.files.size() == 1) return to_json(info, JsonLayout::kIndented);
    info.members.insert(info.members.begin(), {"file", path});
    return to_json(info, JsonLayout::kLine);
  };
  if (is_database_directory(path)) {
    const auto reader = DatabaseReader::open(path, context);
    if (!reader) return std::nullopt;
    reader->report_problems();
    return options.json ? json_of(database_info(reader->source())) : database_table(path, *reader);
  }
  const auto store = context.open(path);
  if (!store) return std::nullopt;
  auto known = info_of(path, *store, options, context);
  if (!known) context.print_failure(path, known.error());
  if (!known) return std::nullopt;
  return options.json ? json_of(std::move(*known)) : table_of(path, *known);
}

int info(const InfoOptions& options) {
  CommandContext context(options.reading);
  Output& output = context.output();
  std::string_view separator;  // of tables
  for (const std::string& path : options.files) {
    const auto text = text_of(path, options, context);
    if (!text) continue;
    if (!options.json) output.write(std::exchange(separator, "\n"));
    output.write(*text);
    output.flush();
  }
  return context.finish();
}

}  // namespace

RunCommand declare_info(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();
  declare_files(app, options->files);
  app.add_flag("--json", options->json,
               "print info.json of a mount; for several files one object per line, with \"file\"");
  app.add_flag("--scan", options->scan,
               "scan the headers, and add totals: chunks, records, decoded bytes, damage in headers\n"
               "This does not check records; `verify` does. In JSON, `damage_scope` is `headers`.");
  options->reading.declare(app);
  return [options] { return info(*options); };
}

}  // namespace recordfs
