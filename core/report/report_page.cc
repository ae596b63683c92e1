#include "core/report/report_page.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "core/base/amounts.h"
#include "core/base/counted.h"
#include "core/report/charts.h"
#include "core/report/column_sections.h"
#include "core/report/html.h"
#include "core/report/page_elements.h"

namespace recordfs {
namespace {

// Escaping makes text up to six times as long, and the page must stay below 1 MiB.
constexpr std::size_t kMostShownMetadata = 50;
constexpr std::size_t kFirstRows = 50;  // the others are in a closed part of the page

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

std::string state_of(const SetReport& report) {
  const FileReport* const file = report.only_file();
  if (file != nullptr && file->size == 0) return R"(<p class="state">The file is empty.</p>)";
  const std::string in_files = file == nullptr ? " in " + counted(report.files, "file") : "";
  std::string unchecked;
  if (file == nullptr && report.unchecked > 0) {
    unchecked = fmt::format(" Not checked: {} with records that have no checksums.", counted(report.unchecked, "file"));
  } else if (const auto finding = file == nullptr ? std::nullopt : finding_without_checksums(file->verdict)) {
    unchecked = fmt::format(" Not checked: {}.", finding->reason);
  }
  if (report.failed + report.faulty == 0) {
    return fmt::format(R"(<p class="state good">Good: {}{} read, no damage found.{}</p>)", records_text(report.records),
                       in_files, unchecked);
  }
  std::string text;
  if (report.faulty > 0) {
    const std::string in_faulty = file == nullptr ? " in " + counted(report.faulty, "file") : "";
    text = fmt::format("{}{}.", report.sums.text(), in_faulty);
  }
  if (report.failed > 0) {
    text += fmt::format("{}Cannot be read: {}.", text.empty() ? "" : " ", counted(report.failed, "file"));
  }
  return fmt::format(R"(<p class="state bad">{}{}</p>)", text, unchecked);
}

double ratio_in(std::uint64_t bytes, std::uint64_t size) {
  return static_cast<double>(bytes) / static_cast<double>(size);
}

std::string tiles(const SetReport& report) {
  const bool is_set = report.only_file() == nullptr;
  std::string text = is_set ? tile("Files", grouped(report.files)) : "";
  text += tile("Records", grouped(report.records));
  text +=
      tile(is_set ? "Size of the files" : "Size of the file", short_size(report.size), grouped(report.size) + " bytes");
  text += tile("Size of the records", short_size(report.bytes), grouped(report.bytes) + " bytes");
  if (report.size > 0) {
    text += tile("Ratio", fmt::format("{:.2f}", ratio_in(report.bytes, report.size)), "bytes of records per byte");
  }
  text += tile("Chunks", grouped(report.chunks));
  if (!is_set && report.sizes.count() > 0) {
    text +=
        tile("Median record", short_size(report.sizes.quantile(0.5)), "largest " + short_size(report.sizes.largest()));
  }
  return "<dl class=\"tiles\">\n" + text + "</dl>\n";
}

// Returns which records are described, if these are not all.
std::string selection(const SetReport& report) {
  if (!report.is_selected) return {};
  return paragraph(fmt::format("All below about records is that of the {} that the condition selects.",
                               records_text(report.sizes.count())));
}

// Returns the facts of info.json that the page does not show elsewhere.
std::string facts(const FileReport& report) {
  constexpr std::array<std::string_view, 3> kShownElsewhere = {"format", "size", "metadata_directory_scope"};
  std::string rows;
  for (const auto& [key, content] : report.info.members) {
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

std::string state_of_row(const SetReport::Row& row) {
  if (!row.failure.empty()) return cell(row.failure, kLongestName);
  if (row.damaged > 0) return fmt::format("damaged: {}", counted(row.damaged, "region"));
  if (row.unread > 0) return fmt::format("not read: {}", counted(row.unread, "region"));
  return row.size == 0 ? "empty" : "good";
}

// Returns a table of rows, with bars relative to a file of `largest` bytes.
std::string files_table(std::span<const SetReport::Row> rows, std::uint64_t largest) {
  std::string text;
  for (const SetReport::Row& row : rows) {
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

std::string files_section(const SetReport& report) {
  std::uint64_t largest = 0;
  for (const SetReport::Row& row : report.rows) largest = std::max(largest, row.size);
  const std::span<const SetReport::Row> all(report.rows);
  const std::size_t first = std::min(all.size(), kFirstRows);
  std::string text = files_table(all.first(first), largest);
  if (first < all.size()) {
    text += fmt::format("<details><summary>{} more</summary>\n{}</details>\n", all.size() - first,
                        files_table(all.subspan(first), largest));
  }
  if (all.size() < report.files) {
    text += paragraph(
        fmt::format("These are the first {} of {} files. The sums are of all.", all.size(), grouped(report.files)));
  }
  return section("Files", text);
}

std::string map_section(const FileReport& report) {
  if (report.size == 0) return {};
  return section(
      "Map of the file",
      paragraph("From the first byte to the last. Each part has the color of the codec of most of its bytes.") +
          file_map(report));
}

std::string compression_section(const FileReport& report) {
  if (report.sizes.count() == 0) return {};
  if (!is_compressed(report)) {
    return section("Compression",
                   paragraph(fmt::format("The records are not compressed: the file has {} for {} of records.",
                                         short_size(report.size), short_size(report.verdict.bytes))));
  }
  return section("Compression along the file",
                 paragraph("Bytes of records for each byte of the file that holds them.") + compression_chart(report));
}

std::string records_section(const FileReport& report) {
  if (report.first.empty()) return {};
  std::string items;
  for (const FirstRecord& record : report.first) {
    items += fmt::format(
        "<li><p>{}</p><pre>{}{}</pre></li>\n",
        grouped(record.size) + (record.size == 1 ? " byte" : " bytes") + (record.is_json ? ", decoded" : ""),
        html_lines(record.text), record.is_cut ? "<span class=\"cut\">…</span>" : "");
  }
  return section("First records", fmt::format("<ol start=\"0\" class=\"records\">\n{}</ol>\n", items));
}

std::string metadata_section(const FileReport& report) {
  const auto* const content = report.info.find("metadata");
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

std::string column_parts(const SetReport& report) {
  return columns_section(report.columns, report.undecoded) + images_section(report.thumbnails);
}

std::string body_of_set(const SetReport& report) {
  return files_section(report) + damage_section(report.findings, report.finding_files, report.all_findings) +
         sizes_section(report.sizes) + column_parts(report) + parts_section(report.parts, false) +
         parts_section(report.keys, true);
}

std::string body_of_file(const SetReport& report, const FileReport& file) {
  return facts(file) + map_section(file) + damage_section(report.findings, {}, report.all_findings) +
         compression_section(file) + sizes_section(report.sizes) + column_parts(report) +
         parts_section(report.parts, false) + parts_section(report.keys, true) + records_section(file) +
         metadata_section(file);
}

}  // namespace

std::string report_page(std::string_view name, const SetReport& report) {
  const FileReport* const file = report.only_file();
  const std::string heading = file == nullptr ? std::string(name) : file_name(name);
  const std::string body =
      tiles(report) + selection(report) + (file == nullptr ? body_of_set(report) : body_of_file(report, *file));
  return page_document({.title = html(heading),
                        .kind = html(fmt::format("{}", fmt::join(report.formats, ", "))),
                        .heading = html_isolated(heading),
                        .state = state_of(report),
                        .body = body,
                        .source = file == nullptr ? counted(report.files, "file") : html_isolated(name),
                        .has_images = !report.thumbnails.images.empty()});
}

}  // namespace recordfs
