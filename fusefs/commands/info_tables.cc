#include "fusefs/commands/info_tables.h"

#include <algorithm>
#include <cstddef>
#include <variant>

#include <fmt/format.h>

#include "core/base/amounts.h"
#include "core/base/counted.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

// The table shows damage_scope with the damaged regions, and leaves the mount's metadata/ out.
bool is_in_json_only(std::string_view key) { return key == "metadata_directory_scope" || key == "damage_scope"; }

constexpr std::string_view kHeadersOnly = " (headers only; run recordfs verify to check the records)";

struct InWords {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::uint64_t value) const { return fmt::format("{}", value); }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{:#}", value); }
  std::string operator()(const std::string& value) const { return printable(value); }
  std::string operator()(const JsonPath& value) const { return printable(value.bytes); }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

std::string row_of(std::string_view name, const JsonObject& first_chunk) {
  const auto* const records = first_chunk.find("records");
  return row(name,
             fmt::format("{} at byte {}{}", text_in(first_chunk, "kind"), text_in(first_chunk, "begin"),
                         records == nullptr ? "" : ", with " + counted(number_in(first_chunk, "records"), "record")));
}

// Returns the value of an item of the metadata, if it is a number or short text; otherwise its size in parentheses.
std::string value_of(const JsonObject& item) {
  constexpr std::size_t kShown = 60;  // bytes
  std::string size = fmt::format(" ({})", in_units(number_in(item, "size")));
  if (item.find("value") != nullptr) return ": " + text_in(item, "value");
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
    const std::string begin = text_in(item, "begin");
    const std::string place = begin.empty() ? "" : fmt::format(", from byte {} on", begin);
    rows += row(rows.empty() ? name : "", text_in(item, "key") + value_of(item) + place);
  }
  return rows;
}

}  // namespace

std::uint64_t number_in(const JsonObject& object, std::string_view name) {
  const JsonObject::Content* const content = object.find(name);
  const auto* const number = content == nullptr ? nullptr : std::get_if<std::uint64_t>(content);
  return number == nullptr ? 0 : *number;
}

std::string text_in(const JsonObject& object, std::string_view name) {
  const JsonObject::Content* const content = object.find(name);
  return content == nullptr ? std::string() : std::visit(InWords{}, *content);
}

std::string in_units(std::uint64_t bytes) {
  const std::string short_form = short_size(bytes);
  return bytes < 1024 ? short_form : fmt::format("{} ({})", counted(bytes, "byte"), short_form);
}

std::string row(std::string_view name, const std::string& value) { return fmt::format("{:<16} {}\n", name, value); }

std::string parts_table(const JsonObject::List& parts) {
  std::string table = fmt::format("\n{:>12} {:>12}  {:<28} {}\n", "entries", "records", "part", "type");
  for (const JsonObject& row : parts) {
    table += fmt::format("{:>12} {:>12}  {:<28} {}", text_in(row, "entries"), text_in(row, "records"),
                         text_in(row, "part"), text_in(row, "type"));
    if (row.find("first_step") != nullptr) {
      table += fmt::format("steps {} to {}", text_in(row, "first_step"), text_in(row, "last_step"));
    }
    table.erase(table.find_last_not_of(' ') + 1);
    table += '\n';
  }
  return table;
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
      table += row(name, text_in(info, key) + std::string(kHeadersOnly));
    } else if ((key == "damaged_bytes" && std::get<std::uint64_t>(content) == 0) ||
               (key == "num_records" && info.find("records") == nullptr)) {
      continue;  // another line says all of it
    } else if (key == "size" || key == "decoded") {
      table += row(name, in_units(std::get<std::uint64_t>(content)));
    } else if (!is_in_json_only(key) && key != "records") {
      table += row(name, text_in(info, key));
    }
  }
  return table;
}

std::string table_of_set(const std::string& name, const JsonObject& info) {
  std::string table = row("data set", printable(name));
  table += row("shards", fmt::format("{} ({} missing, {} unreadable)", text_in(info, "shards"),
                                     text_in(info, "missing"), text_in(info, "unreadable")));
  for (const JsonObject& format : std::get<JsonObject::List>(*info.find("formats"))) {
    table += row("format",
                 fmt::format("{}: {}, {}, {}", text_in(format, "format"), counted(number_in(format, "shards"), "shard"),
                             counted(number_in(format, "records"), "record"), in_units(number_in(format, "size"))));
  }
  table += row("size", in_units(number_in(info, "size")));
  table += row("damaged regions", text_in(info, "damaged_regions") + std::string(kHeadersOnly));
  constexpr std::string_view kRow = "{:>12} {:>11} {:>14}  {:<13} {}{}\n";
  table += "\n" + fmt::format(kRow, "first", "records", "bytes", "format", "shard", "");
  for (const JsonObject& shard : std::get<JsonObject::List>(*info.find("table"))) {
    const std::string shown = shard.find("shards") == nullptr
                                  ? text_in(shard, "shard")
                                  : fmt::format("{} ({})", text_in(shard, "shards"), text_in(shard, "count"));
    if (shard.find("error") != nullptr) {
      table += fmt::format(kRow, "-", "-", "-", "-", shown, fmt::format(" ({})", text_in(shard, "error")));
    } else {
      table +=
          fmt::format(kRow, text_in(shard, "first_ordinal"), text_in(shard, "records"), text_in(shard, "size"),
                      text_in(shard, "format"), shown, number_in(shard, "damaged_regions") > 0 ? " (damaged)" : "");
    }
  }
  return table + "\n" + row("records", text_in(info, "records"));
}

}  // namespace recordfs
