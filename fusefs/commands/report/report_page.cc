#include "fusefs/commands/report/report_page.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "fusefs/commands/amounts.h"
#include "fusefs/commands/report/charts.h"
#include "fusefs/commands/report/html.h"
#include "fusefs/commands/report/page_style.h"
#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

// Escaping makes text up to six times as long, and the page must stay below 1 MB.
constexpr std::size_t kMostShownFindings = 100;  // in the table
constexpr std::size_t kFirstParts = 20;          // the others are in a closed part of the page
constexpr std::size_t kMostShownParts = 100;
constexpr std::size_t kMostShownMetadata = 50;
constexpr std::size_t kLongestName = 100;  // bytes of a name or a value in a table
constexpr std::size_t kLongestValue = 300;

// Cuts text that is too long for a table. A cut character is shown as bytes.
std::string cell(std::string_view text, std::size_t longest) {
  return html_isolated(text.substr(0, longest)) + (text.size() > longest ? "…" : "");
}

std::string section(std::string_view title, std::string_view content) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", title, content);
}

std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", text); }

std::string file_name(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return std::string(name.empty() ? path : name);
}

std::string text_of(const JsonObject& info, std::string_view name) {
  const auto* const content = info.find(name);
  const auto* const text = content == nullptr ? nullptr : std::get_if<std::string>(content);
  return text == nullptr ? std::string() : *text;
}

// --- the head

// What the whole file's findings add up to.
struct Findings {
  std::uint64_t damaged = 0;
  std::uint64_t unread = 0;  // for other reasons
  std::uint64_t records_lost = 0;
  bool is_lower_bound = false;  // some findings do not know how many records they cost
};

Findings findings_of(const Verdict& verdict) {
  Findings sums;
  for (const Finding& finding : verdict.findings) {
    if (finding.status == kExitGood) continue;
    ++(finding.status == kExitDamage ? sums.damaged : sums.unread);
    sums.records_lost += finding.records_lost.value_or(0);
    sums.is_lower_bound |= !finding.records_lost;
  }
  return sums;
}

std::string records_text(std::uint64_t records) { return grouped(records) + (records == 1 ? " record" : " records"); }

std::string state_of(const FileSurvey& survey) {
  const Findings found = findings_of(survey.verdict);
  if (survey.size == 0) return R"(<p class="state">The file is empty.</p>)";
  if (found.damaged + found.unread == 0) {
    return fmt::format(R"(<p class="state good">Good: {} read, no damage found.</p>)",
                       records_text(survey.verdict.records));
  }
  std::string text = found.damaged > 0 ? fmt::format("Damaged: {}", counted(found.damaged, "region"))
                                       : fmt::format("Not read completely: {}", counted(found.unread, "region"));
  if (found.records_lost > 0 || !found.is_lower_bound) {
    text += fmt::format(", {}{} lost", found.is_lower_bound ? "at least " : "", records_text(found.records_lost));
  }
  return fmt::format(R"(<p class="state bad">{}.</p>)", text);
}

std::string tile(std::string_view name, std::string_view value, std::string_view detail = {}) {
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", name, value, detail);
}

std::string tiles(const FileSurvey& survey) {
  const Verdict& verdict = survey.verdict;
  std::string text = tile("Records", grouped(verdict.records));
  text += tile("Size of the file", short_size(survey.size), grouped(survey.size) + " bytes");
  text += tile("Size of the records", short_size(verdict.bytes), grouped(verdict.bytes) + " bytes");
  if (survey.size > 0) {
    text += tile("Ratio", fmt::format("{:.2f}", static_cast<double>(verdict.bytes) / static_cast<double>(survey.size)),
                 "bytes of records per byte");
  }
  text += tile("Chunks", grouped(verdict.chunks));
  if (survey.sizes.count() > 0) {
    text +=
        tile("Median record", short_size(survey.sizes.quantile(0.5)), "largest " + short_size(survey.sizes.largest()));
  }
  return "<dl class=\"tiles\">\n" + text + "</dl>\n";
}

// Returns the facts of info.json that the page does not show elsewhere.
std::string facts(const FileSurvey& survey) {
  constexpr std::array<std::string_view, 3> kShownElsewhere = {"format", "size", "metadata_directory_scope"};
  std::string rows;
  for (const auto& [key, content] : survey.info.members) {
    if (std::ranges::find(kShownElsewhere, key) != kShownElsewhere.end()) continue;
    std::string value;
    if (const auto* const text = std::get_if<std::string>(&content)) value = cell(*text, kLongestValue);
    if (const auto* const number = std::get_if<std::uint64_t>(&content)) value = grouped(*number);
    if (const auto* const flag = std::get_if<bool>(&content)) value = *flag ? "yes" : "no";
    if (value.empty()) continue;
    std::string name = key;
    std::ranges::replace(name, '_', ' ');
    rows += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html(name), value);
  }
  return rows.empty() ? "" : "<dl class=\"facts\">\n" + rows + "</dl>\n";
}

// --- sections

std::string map_section(const FileSurvey& survey) {
  if (survey.size == 0) return {};
  return section(
      "Map of the file",
      paragraph("From the first byte to the last. Each part has the color of the codec of most of its bytes.") +
          file_map(survey));
}

std::string compression_section(const FileSurvey& survey) {
  if (survey.sizes.count() == 0) return {};
  if (!is_compressed(survey)) {
    return section("Compression",
                   paragraph(fmt::format("The records are not compressed: the file has {} for {} of records.",
                                         short_size(survey.size), short_size(survey.verdict.bytes))));
  }
  return section("Compression along the file",
                 paragraph("Bytes of records for each byte of the file that holds them.") + compression_chart(survey));
}

std::string sizes_section(const FileSurvey& survey) {
  const SizeHistogram& sizes = survey.sizes;
  if (sizes.count() == 0) return {};
  std::string text;
  if (sizes.smallest() == sizes.largest()) {
    return section("Record sizes", paragraph(fmt::format("Every record has {}.", counted(sizes.largest(), "byte"))));
  }
  text = fmt::format(
      "<dl class=\"facts\"><div><dt>smallest</dt><dd>{}</dd></div><div><dt>median</dt><dd>{}</dd></div>"
      "<div><dt>mean</dt><dd>{}</dd></div><div><dt>99 %</dt><dd>{}</dd></div><div><dt>largest</dt><dd>{}</dd></div>"
      "</dl>\n",
      short_size(sizes.smallest()), short_size(sizes.quantile(0.5)),
      short_size(static_cast<std::uint64_t>(sizes.mean())), short_size(sizes.quantile(0.99)),
      short_size(sizes.largest()));
  return section("Record sizes",
                 paragraph("Records by size in bytes. The scale of sizes is logarithmic.") + size_chart(survey) + text);
}

// A row of PartCounts.
using PartRow = std::pair<PartCounts::Row, PartCounts::Count>;

// Returns the rows from `first` on, with bars relative to `most`.
std::string parts_table(const FileSurvey& survey, std::span<const PartRow> rows, std::uint64_t most) {
  const bool has_types = !survey.has_keys && std::ranges::any_of(survey.parts.rows(), [](const auto& row) {
    return !row.first.second.empty();
  });
  std::string text;
  for (const auto& [name, count] : rows) {
    text += fmt::format(
        "<tr><th scope=\"row\">{}</th>{}<td>{}</td><td>{}</td><td class=\"share\"><i style=\"width:{:.1f}%\"></i></td>"
        "</tr>\n",
        cell(name.first, kLongestName),
        has_types ? "<td class=\"text\">" + cell(name.second, kLongestName) + "</td>" : "", grouped(count.entries),
        grouped(count.records), 100 * static_cast<double>(count.entries) / static_cast<double>(most));
  }
  return fmt::format(
      "<div class=\"wide\"><table class=\"left\"><thead><tr><th scope=\"col\">{}</th>{}<th scope=\"col\">{}</th>"
      "<th scope=\"col\">in records</th><td></td></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      survey.has_keys ? "change" : "part", has_types ? "<th scope=\"col\" class=\"text\">type</th>" : "",
      survey.has_keys ? "changes" : "entries", text);
}

std::string parts_section(const FileSurvey& survey) {
  std::vector<PartRow> rows(survey.parts.rows().begin(), survey.parts.rows().end());
  if (rows.empty()) return {};
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second.entries > b.second.entries; });
  const std::uint64_t most = rows.front().second.entries;
  const std::span<const PartRow> all(rows.data(), std::min(rows.size(), kMostShownParts));
  const std::size_t first = std::min(all.size(), kFirstParts);
  std::string text = parts_table(survey, all.first(first), most);
  if (first < all.size()) {
    text += fmt::format("<details><summary>{} more</summary>\n{}</details>\n", all.size() - first,
                        parts_table(survey, all.subspan(first), most));
  }
  if (rows.size() > all.size() || survey.parts.others().entries > 0) {
    text += paragraph(fmt::format("Only the {} most frequent are listed.", all.size()));
  }
  return section(survey.has_keys ? "Changes of keys" : "Parts of records", text);
}

std::string records_section(const FileSurvey& survey) {
  if (survey.first.empty()) return {};
  std::string items;
  for (const FirstRecord& record : survey.first) {
    items += fmt::format(
        "<li><p>{}</p><pre>{}{}</pre></li>\n",
        grouped(record.size) + (record.size == 1 ? " byte" : " bytes") + (record.is_json ? ", decoded" : ""),
        html_lines(record.text), record.is_cut ? "<span class=\"cut\">…</span>" : "");
  }
  return section("First records", fmt::format("<ol start=\"0\" class=\"records\">\n{}</ol>\n", items));
}

std::string finding_row(const Finding& finding) {
  return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n",
                     finding.is_of_whole_file ? "" : grouped(finding.begin), finding.end ? grouped(*finding.end) : "",
                     finding.records_lost ? grouped(*finding.records_lost) : "unknown", finding.word,
                     cell(finding.reason, kLongestValue));
}

std::string damage_section(const FileSurvey& survey) {
  const auto& findings = survey.verdict.findings;
  if (findings.empty()) return {};
  std::string rows;
  const std::size_t shown = std::min(findings.size(), kMostShownFindings);
  for (std::size_t i = 0; i < shown; ++i) rows += finding_row(findings[i]);
  const std::string more =
      shown < findings.size() ? paragraph(fmt::format("These are the first {} of {}.", shown, grouped(findings.size())))
                              : std::string();
  return section(
      "Damage", fmt::format("<div class=\"wide\"><table><thead><tr><th scope=\"col\">from byte</th><th scope=\"col\">"
                            "to byte</th><th scope=\"col\">records lost</th><th scope=\"col\" class=\"text\">class</th>"
                            "<th scope=\"col\" class=\"text\">reason</th></tr></thead>\n<tbody>\n{}</tbody></table>"
                            "</div>\n{}",
                            rows, more));
}

std::string metadata_section(const FileSurvey& survey) {
  const auto* const content = survey.info.find("metadata");
  const auto* const list = content == nullptr ? nullptr : std::get_if<JsonObject::List>(content);
  if (list == nullptr || list->empty()) return {};
  std::string rows;
  for (std::size_t i = 0; i < std::min(list->size(), kMostShownMetadata); ++i) {
    const JsonObject& item = (*list)[i];
    const auto* const size = item.find("size");
    const auto* const number = item.find("value");
    const std::string value =
        number == nullptr ? cell(text_of(item, "text"), kLongestValue) : grouped(std::get<std::uint64_t>(*number));
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td>{}</td></tr>\n",
                        cell(text_of(item, "key"), kLongestName), value,
                        size == nullptr ? "" : grouped(std::get<std::uint64_t>(*size)));
  }
  const std::string more =
      list->size() > kMostShownMetadata
          ? paragraph(fmt::format("These are the first {} of {}.", kMostShownMetadata, grouped(list->size())))
          : std::string();
  return section("Metadata",
                 fmt::format("<div class=\"wide\"><table class=\"left\"><thead><tr><th scope=\"col\">key</th><th "
                             "scope=\"col\" class=\"text\">value, if it is short</th><th scope=\"col\">bytes</th>"
                             "</tr></thead>\n<tbody>\n{}</tbody></table></div>\n{}",
                             rows, more));
}

}  // namespace

std::string report_page(std::string_view path, const FileSurvey& survey) {
  const std::string name = file_name(path);
  const std::string body = tiles(survey) + facts(survey) + map_section(survey) + damage_section(survey) +
                           compression_section(survey) + sizes_section(survey) + parts_section(survey) +
                           records_section(survey) + metadata_section(survey);
  return fmt::format(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{} – recordfs report</title>
<style>{}</style>
</head>
<body>
<main>
<header>
<p class="format">{}</p>
<h1>{}</h1>
{}
</header>
{}<footer>Made by <code>recordfs report</code> from {}.</footer>
</main>
</body>
</html>
)",
      html(name), kPageStyle, html(text_of(survey.info, "format")), html_isolated(name), state_of(survey), body,
      html_isolated(path));
}

}  // namespace recordfs
