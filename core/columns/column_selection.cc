#include "core/columns/column_selection.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/similar_names.h"
#include "core/base/utf8.h"

namespace recordfs {
namespace {

Error wrong(std::string why) { return {.code = Code::kUnsupported, .detail = std::move(why)}; }

}  // namespace

Result<std::string> take_name(std::string_view& text) {
  const bool is_quoted = text.starts_with('`') || text.starts_with('"');
  std::string name(is_quoted ? std::string_view() : text.substr(0, text.find(',')));
  if (!is_quoted) {
    text.remove_prefix(name.size());
    return name;
  }
  const std::string twice(2, text.front());
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool is_doubled = text.substr(i).starts_with(twice);
    if (text[i] == twice[0] && !is_doubled) {
      const std::string_view rest = text.substr(i + 1);
      if (!rest.empty() && !rest.starts_with(',')) return wrong("a comma is expected after a name in quotes");
      text = rest;
      return name;
    }
    name += text[i];
    if (is_doubled) ++i;
  }
  return wrong(fmt::format("a quote without its end: {}", printable(text)));
}

std::optional<WantedParts> WantedParts::member(std::string_view name) const {
  if (is_all()) return WantedParts();
  std::vector<std::string_view> inside;
  for (const std::string_view path : paths_) {
    if (path == name) return WantedParts();
    if (path.starts_with(name) && path[name.size()] == '.') inside.push_back(path.substr(name.size() + 1));
  }
  return inside.empty() ? std::nullopt : std::optional(WantedParts(std::move(inside)));
}

Result<ColumnSelection> ColumnSelection::of(std::vector<std::string> names) {
  if (names.empty()) return wrong("no column is named");
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  const auto same = std::ranges::adjacent_find(sorted);
  if (same != sorted.end()) return wrong(fmt::format("column {} is named twice", printable(*same)));
  return ColumnSelection(std::move(names));
}

Result<ColumnSelection> ColumnSelection::parse(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const bool is_missing = text.front() == ',';
    ASSIGN_OR_RETURN(auto name, take_name(text));
    if (is_missing || text == ",") return wrong("no column is named before or after a comma");
    names.push_back(std::move(name));
    if (!text.empty()) text.remove_prefix(1);
  }
  return of(std::move(names));
}

bool ColumnSelection::wants(std::string_view name) const {
  return names_.empty() || std::ranges::find(names_, name) != names_.end();
}

bool ColumnSelection::has_dots() const {
  return std::ranges::any_of(names_, [](const std::string& name) { return name.find('.') != std::string::npos; });
}

Result<void> ColumnSelection::check(const std::vector<std::string>& of_records) const {
  for (const std::string& name : names_) {
    if (std::ranges::find(of_records, name) != of_records.end()) continue;
    return wrong(fmt::format("{}{} (the columns are {})", kNoColumn, printable(name), nearest_names(name, of_records)));
  }
  return {};
}

}  // namespace recordfs
