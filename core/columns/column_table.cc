#include "core/columns/column_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "core/base/amounts.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::size_t kLongestShownBound = 24;  // bytes of a bound in the table
constexpr std::size_t kLongestColumnName = 40;
constexpr std::size_t kShownValues = 10;  // of a column

// Returns at most `most` bytes of whole characters, with dots if there are more.
std::string shortened(std::string text, std::size_t most, bool is_cut) {
  if (text.size() <= most && !is_cut) return text;
  std::size_t size = 0;
  while (size < text.size()) {
    const std::size_t next = std::max<std::size_t>(utf8_character(std::string_view(text).substr(size)), 1);
    if (size + next > most) break;
    size += next;
  }
  return text.substr(0, size) + "...";
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

constexpr std::size_t kCells = 10;
using Cells = std::array<std::string, kCells>;

Cells cells_of(const std::string& name, const ColumnSummary& column, std::uint64_t records, std::size_t most) {
  const auto length = mean_length(column);
  const auto size = column.mean_size();
  const auto bound = [](const std::optional<ColumnValue>& value) {
    return value ? shown_value(*value, kLongestShownBound) : std::string("-");
  };
  const std::string type = column.type();
  return {shortened(printable(name), kLongestColumnName, false),
          (type.empty() ? "-" : type) + (column.is_list() ? " list" : ""),
          fmt::format("{}", column.records()),
          fmt::format("{}", records - column.records()),
          fmt::format("{}", column.values()),
          length ? fmt::format("{:.2f}", *length) : "-",
          size ? short_size(static_cast<std::uint64_t>(std::llround(*size))) : "-",
          column.counts() == nullptr ? fmt::format("over {}", most) : fmt::format("{}", column.counts()->size()),
          bound(column.minimum()),
          bound(column.maximum())};
}

// Returns rows in aligned columns. Numbers are at the right.
std::string aligned(const std::vector<Cells>& rows) {
  constexpr std::string_view kSides = "<<>>>>>><<";
  std::array<std::size_t, kCells> widths{};
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < kCells; ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < kCells; ++i) {
      const std::string space(widths[i] - width_of(row[i]), ' ');
      text += (i == 0 ? "" : "  ") + (kSides[i] == '<' ? row[i] + space : space + row[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string values_table(const std::string& name, const ColumnSummary::Counts& counts) {
  constexpr std::size_t kLongestFrequent = 60;
  std::string text = fmt::format("\n{:>12}  {}\n", "count", shortened(printable(name), kLongestColumnName, false));
  const FrequentValues values = frequent_values(counts);
  std::uint64_t others = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i >= kShownValues) {
      others += values[i].second;
    } else {
      text += fmt::format("{:>12}  {}\n", values[i].second, shown_value(*values[i].first, kLongestFrequent));
    }
  }
  if (others > 0) text += fmt::format("{:>12}  ({} others)\n", others, values.size() - kShownValues);
  return text;
}

}  // namespace

std::string columns_table(const ColumnStatistics& columns) {
  std::vector<Cells> rows{
      {"column", "type", "records", "missing", "values", "mean length", "mean size", "distinct", "minimum", "maximum"}};
  const auto all = columns.columns();
  for (const NamedColumn* const named : all) {
    rows.push_back(cells_of(named->first, named->second, columns.records(), columns.most_distinct()));
  }
  std::string text = aligned(rows);
  for (const NamedColumn* const named : all) {
    const auto* const counts = named->second.counts();
    if (counts != nullptr && counts->size() < named->second.values()) text += values_table(named->first, *counts);
  }
  return text;
}

std::string shown_value(const ColumnValue& value, std::size_t most) {
  return std::visit(
      [most](const auto& is) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(is)>, ColumnText>) {
          return shortened(printable(whole_characters(is)), most, is.is_cut());
        } else {
          return fmt::format("{}", is);
        }
      },
      value.is);
}

}  // namespace recordfs
