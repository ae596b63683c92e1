#include "fusefs/commands/info.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/store/wait_ticket.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/files_option.h"
#include "fusefs/commands/found_damage.h"
#include "fusefs/commands/output.h"
#include "fusefs/tree/generated_files.h"

namespace recordfs {
namespace {

using Json = nlohmann::ordered_json;

// The table shows damage_scope with the damaged regions, and leaves the mount's metadata/ out.
bool is_in_json_only(std::string_view key) { return key == "metadata_directory_scope" || key == "damage_scope"; }

struct InfoOptions {
  ReadingOptions reading;
  std::vector<std::string> files;
  bool json = false;
  bool scan = false;
};

// Adds the results of a full scan, and reports damage.
Result<void> add_totals(const std::string& path, const RecordStore& store, CommandContext& context, Json& info) {
  ASSIGN_OR_RETURN(const auto totals, wait_for([&] { return store.index().totals(ScanDetail::kSizes); }));
  ASSIGN_OR_RETURN(const auto damage, wait_for([&] { return store.index().damage(); }));
  FoundDamage found(path, store, context);
  for (const DamageRow& row : *damage) found.add(row.region);
  const Json sums = Json::parse(summary(store, totals, *damage));
  for (const auto& [key, value] : sums.items()) info[key] = value;
  if (const std::uint64_t size = store.source().size(); size > 0) {
    info["ratio"] = std::round(100.0 * static_cast<double>(totals.bytes) / static_cast<double>(size)) / 100;
  }
  return {};
}

// Returns info.json of a container, with totals if requested.
Result<Json> info_of(const std::string& path, const RecordStore& store, const InfoOptions& options,
                     CommandContext& context) {
  ASSIGN_OR_RETURN(const auto text, container_info(store));
  Json info = Json::parse(text);
  if (options.scan) {
    TRY(add_totals(path, store, context, info));
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

std::string text_of(const Json& value) {
  return value.is_string() ? printable(value.get_ref<const std::string&>()) : value.dump();
}

std::string first_chunk_of(const Json& chunk) {
  const std::string records = chunk["records"].is_null() ? "" : fmt::format(", records: {}", text_of(chunk["records"]));
  return fmt::format("{} at byte {}{}", text_of(chunk["kind"]), text_of(chunk["begin"]), records);
}

std::string row(std::string_view name, const std::string& value) { return fmt::format("{:<16} {}\n", name, value); }

// One row per key.
std::string metadata_rows(const Json& metadata) {
  if (metadata.empty()) return row("metadata", "none");
  std::string rows;
  for (const Json& item : metadata) {
    const std::string key = fmt::format("{} ({})", text_of(item["key"]), in_units(item["size"].get<std::uint64_t>()));
    rows += row(rows.empty() ? "metadata" : "", key);
  }
  return rows;
}

std::string table_of(const std::string& path, const Json& info) {
  std::string table = row("file", printable(path));
  for (const auto& [key, value] : info.items()) {
    std::string name = key;
    std::ranges::replace(name, '_', ' ');
    if (key == "metadata") {
      table += metadata_rows(value);
    } else if (key == "first_chunk") {
      table += row(name, first_chunk_of(value));
    } else if (key == "damaged_regions") {
      table += row(name, text_of(value) + " (headers only; run recordfs verify to check the records)");
    } else if (key == "damaged_bytes" && value == 0) {
      continue;  // the line above says all of it
    } else if (!is_in_json_only(key)) {
      table += row(name, key == "size" || key == "decoded" ? in_units(value.get<std::uint64_t>()) : text_of(value));
    }
  }
  return table;
}

std::string dumped(const Json& json, int indentation) {
  return json.dump(indentation, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Of several files, each gets a line that names the file.
std::string json_of(const std::string& path, const Json& info, bool is_one_of_several) {
  if (!is_one_of_several) return dumped(info, 2);
  Json named;
  named["file"] = path;
  named.update(info);
  return dumped(named, -1);
}

int info(const InfoOptions& options) {
  CommandContext context(options.reading);
  Output output(STDOUT_FILENO);
  bool is_first = true;
  for (const std::string& path : options.files) {
    const auto store = context.open(path);
    if (!store) continue;
    const auto known = info_of(path, *store, options, context);
    if (!known) {
      context.print_failure(path, known.error());
      continue;
    }
    if (options.json) {
      output.write(json_of(path, *known, options.files.size() > 1));
    } else {
      if (!std::exchange(is_first, false)) output.write("\n");
      output.write(table_of(path, *known));
    }
    output.flush();
  }
  context.note(output.finish());
  return context.status();
}

}  // namespace

std::function<int()> declare_info(CLI::App& app) {
  const auto options = std::make_shared<InfoOptions>();
  declare_files(app, options->files);
  app.add_flag("--json", options->json,
               "print info.json of a mount; for several files one object per line, with \"file\"");
  app.add_flag("--scan", options->scan,
               "scan the headers, and add totals: chunks, records, decoded bytes, damage in headers");
  options->reading.declare(app);
  return [options] { return info(*options); };
}

}  // namespace recordfs
