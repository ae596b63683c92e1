#include "core/columns/statistics_json.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <variant>

#include "core/base/utf8.h"
#include "core/formats/shortest_digits.h"

namespace recordfs {
namespace {

// Adds a value as the member `name`, or as `name`_base64 if it is no text. A bound may have the front of several texts.
void set_value(JsonObject& object, const std::string& name, const ColumnValue& value, bool is_bound) {
  std::visit(
      [&](const auto& is) {
        using Type = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<Type, ColumnText>) {
          const std::string_view text = whole_characters(is);
          if (is_utf8(text)) {
            object.set(name, text);
          } else {
            std::string encoded;
            append_base64(encoded, as_bytes(text));
            object.set(name + "_base64", std::move(encoded));
          }
          if (is.is_cut() && is_bound) object.set(name + "_is_cut", true);
          if (is.is_cut() && !is_bound) object.set(name + "_size", is.size);
        } else if constexpr (std::is_same_v<Type, float>) {
          object.set(name, with_its_digits(is));
        } else {
          object.set(name, is);
        }
      },
      value.is);
}

double rounded(double number) { return std::round(100 * number) / 100; }

JsonObject row_of(const std::string& name, const ColumnSummary& column, std::uint64_t records, std::size_t most) {
  JsonObject row;
  row.set("name", name);
  const std::string type = column.type();
  row.set("type", type.empty() ? JsonObject::Content() : JsonObject::Content(type));
  row.set("list", column.is_list());
  row.set("records", column.records());
  row.set("missing", records - column.records());
  row.set("values", column.values());
  if (const auto length = mean_length(column)) row.set("mean_length", rounded(*length));
  if (const auto size = column.mean_size()) row.set("mean_size", rounded(*size));
  if (const auto minimum = column.minimum()) set_value(row, "minimum", *minimum, true);
  if (const auto maximum = column.maximum()) set_value(row, "maximum", *maximum, true);
  if (column.counts() == nullptr) {
    row.set("distinct_above", std::uint64_t{most});
    return row;
  }
  row.set("distinct", std::uint64_t{column.counts()->size()});
  JsonObject::List counts;
  for (const auto& [value, count] : frequent_values(*column.counts())) {
    set_value(counts.emplace_back(), "value", *value, false);
    counts.back().set("count", count);
  }
  row.set("counts", std::move(counts));
  return row;
}

}  // namespace

JsonObject::List columns_list(const ColumnStatistics& columns) {
  JsonObject::List list;
  const auto all = columns.columns();
  list.reserve(all.size());
  for (const NamedColumn* const named : all) {
    list.push_back(row_of(named->first, named->second, columns.records(), columns.most_distinct()));
  }
  return list;
}

FrequentValues frequent_values(const ColumnSummary::Counts& counts) {
  FrequentValues values;
  values.reserve(counts.size());
  for (const auto& [value, count] : counts) values.emplace_back(&value, count);
  std::ranges::stable_sort(values, [](const auto& a, const auto& b) { return a.second > b.second; });
  return values;
}

// Returns the text without a character that was cut.
std::string_view whole_characters(const ColumnText& text) {
  const std::string_view front = text.front;
  if (!text.is_cut()) return front;
  constexpr std::size_t kLongestCharacter = 4;
  for (std::size_t cut = 0; cut < std::min(kLongestCharacter, front.size()); ++cut) {
    const std::string_view shorter = front.substr(0, front.size() - cut);
    if (is_utf8(shorter)) return shorter;
  }
  return front;
}

std::optional<double> mean_length(const ColumnSummary& column) {
  if (!column.is_list() || column.records() == 0) return std::nullopt;
  return static_cast<double>(column.elements()) / static_cast<double>(column.records());
}

}  // namespace recordfs
