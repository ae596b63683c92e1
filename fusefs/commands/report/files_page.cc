#include "fusefs/commands/report/files_page.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "fusefs/commands/amounts.h"
#include "fusefs/commands/report/html.h"
#include "fusefs/commands/report/page_elements.h"

namespace recordfs {
namespace {

constexpr std::size_t kFirstRows = 50;  // the others are in a closed part of the page

double ratio_in(std::uint64_t bytes, std::uint64_t size) {
  return static_cast<double>(bytes) / static_cast<double>(size);
}

std::string state_of_files(const FilesSurvey& survey) {
  if (survey.failed + survey.faulty == 0) {
    return fmt::format(R"(<p class="state good">Good: {} in {} read, no damage found.</p>)",
                       records_text(survey.records), counted(survey.files, "file"));
  }
  std::string text =
      survey.faulty > 0 ? fmt::format("{} in {}.", survey.sums.text(), counted(survey.faulty, "file")) : std::string();
  if (survey.failed > 0) {
    text += fmt::format("{}Cannot be read: {}.", text.empty() ? "" : " ", counted(survey.failed, "file"));
  }
  return fmt::format(R"(<p class="state bad">{}</p>)", text);
}

std::string tiles_of_files(const FilesSurvey& survey) {
  std::string text = tile("Files", grouped(survey.files));
  text += tile("Records", grouped(survey.records));
  text += tile("Size of the files", short_size(survey.size), grouped(survey.size) + " bytes");
  text += tile("Size of the records", short_size(survey.bytes), grouped(survey.bytes) + " bytes");
  if (survey.size > 0) {
    text += tile("Ratio", fmt::format("{:.2f}", ratio_in(survey.bytes, survey.size)), "bytes of records per byte");
  }
  text += tile("Chunks", grouped(survey.chunks));
  return "<dl class=\"tiles\">\n" + text + "</dl>\n";
}

std::string state_of_row(const FilesSurvey::Row& row) {
  if (!row.failure.empty()) return cell(row.failure, kLongestName);
  if (row.damaged > 0) return fmt::format("damaged: {}", counted(row.damaged, "region"));
  if (row.unread > 0) return fmt::format("not read: {}", counted(row.unread, "region"));
  return row.size == 0 ? "empty" : "good";
}

// Returns a table of rows, with bars relative to a file of `largest` bytes.
std::string files_table(std::span<const FilesSurvey::Row> rows, std::uint64_t largest) {
  std::string text;
  for (const FilesSurvey::Row& row : rows) {
    const bool was_read = row.failure.empty();
    text += fmt::format(
        "<tr><th scope=\"row\" class=\"path\">{}</th><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td class=\"text\">{}</td><td class=\"share\"><i style=\"width:{:.1f}%\"></i></td></tr>\n",
        path_cell(row.path), html(row.format), was_read ? grouped(row.records) : "",
        was_read ? short_size(row.size) : "",
        was_read && row.size > 0 ? fmt::format("{:.2f}", ratio_in(row.bytes, row.size)) : "", state_of_row(row),
        100 * ratio_in(row.size, std::max<std::uint64_t>(largest, 1)));
  }
  return fmt::format(
      "<div class=\"wide\"><table class=\"left\"><thead><tr><th scope=\"col\">file</th><th scope=\"col\" "
      "class=\"text\">format</th><th scope=\"col\">records</th><th scope=\"col\">size</th><th scope=\"col\">ratio</th>"
      "<th scope=\"col\" class=\"text\">state</th><td></td></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      text);
}

std::string files_section(const FilesSurvey& survey) {
  std::uint64_t largest = 0;
  for (const FilesSurvey::Row& row : survey.rows) largest = std::max(largest, row.size);
  const std::span<const FilesSurvey::Row> all(survey.rows);
  const std::size_t first = std::min(all.size(), kFirstRows);
  std::string text = files_table(all.first(first), largest);
  if (first < all.size()) {
    text += fmt::format("<details><summary>{} more</summary>\n{}</details>\n", all.size() - first,
                        files_table(all.subspan(first), largest));
  }
  if (all.size() < survey.files) {
    text += paragraph(
        fmt::format("These are the first {} of {} files. The sums are of all.", all.size(), grouped(survey.files)));
  }
  return section("Files", text);
}

}  // namespace

std::string files_page(std::string_view name, const FilesSurvey& survey) {
  const std::string body = tiles_of_files(survey) + files_section(survey) +
                           damage_section(survey.findings, survey.finding_files, survey.all_findings) +
                           sizes_section(survey.sizes) + parts_section(survey.parts, false) +
                           parts_section(survey.keys, true);
  return page_document({.title = html(name),
                        .kind = html(fmt::format("{}", fmt::join(survey.formats, ", "))),
                        .heading = html_isolated(name),
                        .state = state_of_files(survey),
                        .body = body,
                        .source = counted(survey.files, "file")});
}

}  // namespace recordfs
