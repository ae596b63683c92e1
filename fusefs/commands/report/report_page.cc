#include "fusefs/commands/report/report_page.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "fusefs/commands/amounts.h"
#include "fusefs/commands/report/charts.h"
#include "fusefs/commands/report/html.h"
#include "fusefs/commands/report/page_elements.h"

namespace recordfs {
namespace {

// Escaping makes text up to six times as long, and the page must stay below 1 MiB.
constexpr std::size_t kMostShownMetadata = 50;
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

std::string state_of(const FileSurvey& survey) {
  FindingSums found;
  for (const Finding& finding : survey.verdict.findings) found.add(finding);
  if (survey.size == 0) return R"(<p class="state">The file is empty.</p>)";
  if (found.damaged + found.unread == 0) {
    const auto unchecked = finding_without_checksums(survey.verdict);
    return fmt::format(R"(<p class="state good">Good: {} read, no damage found.{}</p>)",
                       records_text(survey.verdict.records),
                       unchecked ? fmt::format(" Not checked: {}.", unchecked->reason) : "");
  }
  return fmt::format(R"(<p class="state bad">{}.</p>)", found.text());
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
  const std::string body = tiles(survey) + facts(survey) + map_section(survey) +
                           damage_section(survey.verdict.findings, {}, survey.verdict.findings.size()) +
                           compression_section(survey) + sizes_section(survey.sizes) +
                           parts_section(survey.parts, survey.has_keys) + records_section(survey) +
                           metadata_section(survey);
  return page_document({.title = html(name),
                        .kind = html(text_of(survey.info, "format")),
                        .heading = html_isolated(name),
                        .state = state_of(survey),
                        .body = body,
                        .source = html_isolated(path)});
}

}  // namespace recordfs
