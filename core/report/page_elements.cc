#include "core/report/page_elements.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/amounts.h"
#include "core/base/counted.h"
#include "core/report/charts.h"
#include "core/report/html.h"
#include "core/report/page_style.h"

namespace recordfs {
namespace {

constexpr std::size_t kFirstParts = 20;  // the others are in a closed part of the page
constexpr std::size_t kMostShownParts = 100;

// A row of PartCounts.
using PartRow = std::pair<PartCounts::Row, PartCounts::Count>;

bool have_types(const PartCounts& parts) {
  return std::ranges::any_of(parts.rows(), [](const auto& row) { return !row.first.second.empty(); });
}

// Returns a table of rows, with bars relative to `most`.
std::string parts_table(std::span<const PartRow> rows, std::uint64_t most, bool are_keys, bool has_types) {
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
      are_keys ? "change" : "part", has_types ? "<th scope=\"col\" class=\"text\">type</th>" : "",
      are_keys ? "changes" : "entries", text);
}

std::string loss_of(const Finding& finding) {
  if (finding.records_lost) return grouped(*finding.records_lost);
  return finding.least_lost > 0 ? "at least " + grouped(finding.least_lost) : "unknown";
}

// `file` is null if there is only one.
std::string finding_row(const Finding& finding, const std::string* file) {
  return fmt::format(
      "<tr>{}<td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n",
      file == nullptr ? "" : "<td class=\"text path\">" + path_cell(*file) + "</td>",
      finding.is_of_whole_file ? "" : grouped(finding.begin), finding.end ? grouped(*finding.end) : "",
      loss_of(finding), finding.word, cell(finding.reason, kLongestValue));
}

}  // namespace

std::string cell(std::string_view text, std::size_t longest) {
  return html_isolated(text.substr(0, longest)) + (text.size() > longest ? "…" : "");
}

std::string path_cell(std::string_view path) {
  const bool is_long = path.size() > kLongestName;
  return (is_long ? "…" : "") + html_isolated(is_long ? path.substr(path.size() - kLongestName) : path);
}

std::string section(std::string_view title, std::string_view content) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", title, content);
}

std::string paragraph(std::string_view text) { return fmt::format("<p>{}</p>\n", text); }

std::string tile(std::string_view name, std::string_view value, std::string_view detail) {
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", name, value, detail);
}

std::string records_text(std::uint64_t records) { return grouped(records) + (records == 1 ? " record" : " records"); }

void FindingSums::add(const Finding& finding) {
  if (finding.impact == Impact::kNone) return;
  ++(finding.impact == Impact::kDamage ? damaged : unread);
  records_lost += finding.records_lost.value_or(finding.least_lost);
  is_lower_bound |= !finding.records_lost;
}

std::string FindingSums::text() const {
  std::string text = damaged > 0 ? fmt::format("Damaged: {}", counted(damaged, "region"))
                                 : fmt::format("Not read completely: {}", counted(unread, "region"));
  if (records_lost > 0 || !is_lower_bound) {
    text += fmt::format(", {}{} lost", is_lower_bound ? "at least " : "", records_text(records_lost));
  }
  return text;
}

std::string damage_section(std::span<const Finding> findings, std::span<const std::string> files, std::uint64_t all) {
  if (findings.empty()) return {};
  std::string rows;
  const std::size_t shown = std::min(findings.size(), kMostShownFindings);
  for (std::size_t i = 0; i < shown; ++i) rows += finding_row(findings[i], files.empty() ? nullptr : &files[i]);
  const std::string more =
      shown < all ? paragraph(fmt::format("These are the first {} of {}.", shown, grouped(all))) : std::string();
  return section(
      "Damage", fmt::format("<div class=\"wide\"><table><thead><tr>{}<th scope=\"col\">from byte</th><th scope=\"col\">"
                            "to byte</th><th scope=\"col\">records lost</th><th scope=\"col\" class=\"text\">class</th>"
                            "<th scope=\"col\" class=\"text\">reason</th></tr></thead>\n<tbody>\n{}</tbody></table>"
                            "</div>\n{}",
                            files.empty() ? "" : "<th scope=\"col\" class=\"text\">file</th>", rows, more));
}

std::string sizes_section(const SizeHistogram& sizes) {
  if (sizes.count() == 0) return {};
  if (sizes.smallest() == sizes.largest()) {
    return section("Record sizes", paragraph(fmt::format("Every record has {}.", counted(sizes.largest(), "byte"))));
  }
  const std::string text = fmt::format(
      "<dl class=\"facts\"><div><dt>smallest</dt><dd>{}</dd></div><div><dt>median</dt><dd>{}</dd></div>"
      "<div><dt>mean</dt><dd>{}</dd></div><div><dt>99 %</dt><dd>{}</dd></div><div><dt>largest</dt><dd>{}</dd></div>"
      "</dl>\n",
      short_size(sizes.smallest()), short_size(sizes.quantile(0.5)),
      short_size(static_cast<std::uint64_t>(sizes.mean())), short_size(sizes.quantile(0.99)),
      short_size(sizes.largest()));
  return section("Record sizes",
                 paragraph("Records by size in bytes. The scale of sizes is logarithmic.") + size_chart(sizes) + text);
}

std::string parts_section(const PartCounts& parts, bool are_keys) {
  std::vector<PartRow> rows(parts.rows().begin(), parts.rows().end());
  if (rows.empty()) return {};
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second.entries > b.second.entries; });
  const std::uint64_t most = rows.front().second.entries;
  const bool has_types = !are_keys && have_types(parts);
  const std::span<const PartRow> all(rows.data(), std::min(rows.size(), kMostShownParts));
  const std::size_t first = std::min(all.size(), kFirstParts);
  std::string text = parts_table(all.first(first), most, are_keys, has_types);
  if (first < all.size()) {
    text += fmt::format("<details><summary>{} more</summary>\n{}</details>\n", all.size() - first,
                        parts_table(all.subspan(first), most, are_keys, has_types));
  }
  if (rows.size() > all.size() || parts.others().entries > 0) {
    text += paragraph(fmt::format("Only the {} most frequent are listed.", all.size()));
  }
  return section(are_keys ? "Changes of keys" : "Parts of records", text);
}

std::string page_document(const PageText& text) {
  return fmt::format(
      R"({}<meta http-equiv="Content-Security-Policy" content="default-src 'none';{} style-src 'unsafe-inline'">
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
      kPageBegin, text.has_images ? " img-src data:;" : "", text.title, kPageStyle, text.kind, text.heading, text.state,
      text.body, text.source);
}

}  // namespace recordfs
