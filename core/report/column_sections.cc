#include "core/report/column_sections.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/base/amounts.h"
#include "core/base/counted.h"
#include "core/columns/column_table.h"
#include "core/decoding/json_writer.h"
#include "core/report/charts.h"
#include "core/report/html.h"
#include "core/report/page_elements.h"

namespace recordfs {
namespace {

constexpr std::size_t kFirstColumns = 20;  // the others are in a closed part of the page
constexpr std::size_t kMostShownColumns = 60;
constexpr std::size_t kMostCharts = 8;
constexpr std::size_t kMostBars = 16;            // of a chart
constexpr std::size_t kLongestBoundInPage = 24;  // bytes

std::string bound(const std::optional<ColumnValue>& value) {
  return value ? html_isolated(shown_value(*value, kLongestBoundInPage)) : std::string();
}

std::string row_of(const NamedColumn& named, const ColumnStatistics& columns) {
  const auto& [name, column] = named;
  const auto size = column.mean_size();
  const auto mean = mean_length(column);
  const std::string length = mean ? fmt::format("{:.2f}", *mean) : std::string();
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td class=\"text\">{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
      "<td class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n",
      cell(name, kLongestName), column.type(), column.is_list() ? " list" : "",
      grouped(columns.records() - column.records()), length,
      size ? short_size(static_cast<std::uint64_t>(std::llround(*size))) : std::string(),
      column.counts() == nullptr ? fmt::format("over {}", grouped(columns.most_distinct()))
                                 : grouped(column.counts()->size()),
      bound(column.minimum()), bound(column.maximum()));
}

std::string table_of(const std::vector<const NamedColumn*>& rows, const ColumnStatistics& columns) {
  std::string text;
  for (const NamedColumn* const row : rows) text += row_of(*row, columns);
  return fmt::format(
      "<div class=\"wide\"><table class=\"left\"><thead><tr><th scope=\"col\">column</th><th scope=\"col\" "
      "class=\"text\">type</th><th scope=\"col\">missing</th><th scope=\"col\">mean length</th><th scope=\"col\">mean "
      "size</th><th scope=\"col\">distinct</th><th scope=\"col\" class=\"text\">minimum</th><th scope=\"col\" "
      "class=\"text\">maximum</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      text);
}

// Returns a chart of the most frequent values, in the order of the values.
std::string chart_of(const NamedColumn& named) {
  const auto& [name, column] = named;
  FrequentValues values = frequent_values(*column.counts());
  values.resize(std::min(values.size(), kMostBars));
  std::ranges::sort(values, [](const auto& a, const auto& b) { return compare(*a.first, *b.first) < 0; });
  std::vector<CountedLabel> bars;
  bars.reserve(values.size());
  for (const auto& [value, count] : values) {
    bars.push_back({.label = shown_value(*value, kLongestBoundInPage), .count = count});
  }
  const std::size_t left_out = column.counts()->size() - values.size();
  return fmt::format(
      "<h3>{}</h3>\n{}{}", cell(name, kLongestName), value_chart(bars, column.values()),
      left_out == 0 ? "" : paragraph(fmt::format("{} are less frequent.", counted(left_out, "other value"))));
}

// Returns whether some values occur several times, and others differ from them.
bool has_chart(const ColumnSummary& column) {
  const auto* const counts = column.counts();
  return counts != nullptr && counts->size() > 1 && counts->size() < column.values();
}

}  // namespace

std::string columns_section(const ColumnStatistics& columns, const UndecodedRecords::Summary& undecoded) {
  const std::string_view without = undecoded.why == kNoObject ? "without columns" : "cannot be decoded";
  const auto all = columns.columns();
  if (all.empty() && undecoded.records > 0) {
    return section("Columns", paragraph(fmt::format("None: {} {}.", records_text(undecoded.records), without)));
  }
  if (all.empty() && columns.several().empty() && !columns.has_too_many()) return {};
  const std::size_t shown = std::min(all.size(), kMostShownColumns);
  const std::size_t first = std::min(shown, kFirstColumns);
  std::string text =
      paragraph(fmt::format("The columns of {}.", columns.has_scalars() ? grouped(columns.records()) + " scalars"
                                                                        : records_text(columns.records())));
  if (undecoded.records > 0) text += paragraph(fmt::format("{} {}.", records_text(undecoded.records), without));
  if (columns.is_mixed()) text += paragraph("Some files have scalars, and others rows of their own.");
  if (columns.has_too_many()) text += paragraph("There are too many columns to count all of them.");
  for (const std::string& name : columns.several()) {
    text += paragraph(cell(name, kLongestName) + " names several columns, because names have dots.");
  }
  text += table_of({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first)}, columns);
  if (first < shown) {
    text += fmt::format(
        "<details><summary>{} more</summary>\n{}</details>\n", shown - first,
        table_of({all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(shown)},
                 columns));
  }
  if (shown < all.size()) text += paragraph(fmt::format("These are the first {} of {}.", shown, grouped(all.size())));
  std::size_t charts = 0;
  for (const NamedColumn* const column : all) {
    if (charts == kMostCharts || !has_chart(column->second)) continue;
    ++charts;
    text += chart_of(*column);
  }
  return section("Columns", text);
}

std::string images_section(const Thumbnails& thumbnails) {
  std::string items;
  for (const Thumbnail& image : thumbnails.images) {
    std::string encoded;
    append_base64(encoded, as_bytes(image.bytes));
    const std::string name = cell(image.column, kLongestName);
    items += fmt::format("<li><img src=\"data:{};base64,{}\" alt=\"Image of record {}\"><p>{}, record {}</p></li>\n",
                         image.type, encoded, image.ordinal, name, grouped(image.ordinal));
  }
  const std::string more = thumbnails.too_large == 0
                               ? std::string()
                               : paragraph(fmt::format("{} of these records: too large for this page, or damaged.",
                                                       counted(thumbnails.too_large, "more image")));
  if (items.empty() && more.empty()) return {};
  return section("Images of the first records",
                 (items.empty() ? "" : fmt::format("<ul class=\"images\">\n{}</ul>\n", items)) + more);
}

}  // namespace recordfs
