#include "core/report/charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/amounts.h"
#include "core/base/counted.h"
#include "core/base/utf8.h"
#include "core/report/html.h"

namespace recordfs {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 72;  // of the area for data; the labels of the vertical axis are beside it
constexpr double kDataWidth = kWidth - kLeft;

// Shortens coordinates to a tenth of a pixel.
std::string px(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format(R"(<text x="{}" y="{}" text-anchor="{}">{}</text>)", px(x), px(y), anchor, html(text));
}

std::string figure(double height, std::string_view label, std::string_view drawing, std::string_view below) {
  return fmt::format("<figure>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n{}</figure>\n",
                     px(kWidth), px(height), html(label), drawing, below);
}

std::string numbers(std::string_view head, std::string_view rows) {
  return fmt::format(
      "<details><summary>Numbers</summary>\n<div class=\"wide\"><table><thead><tr>{}</tr></thead>\n<tbody>\n{}"
      "</tbody></table></div></details>\n",
      head, rows);
}

double ratio_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  const double share = 100 * ratio_of(part, whole);
  return share > 0 && share < 0.1 ? "&lt; 0.1 %" : fmt::format("{:.1f} %", share);
}

// --- the map

// What a part of the file is mostly: the number of a codec, or damage.
struct Run {
  Position begin = 0;
  Position end = 0;
  std::optional<std::size_t> codec{};  // nullopt: damage
};

Run run_of(const FileReport& report, std::size_t bin) {
  const FileBin& content = report.bins[bin];
  Run run{.begin = report.begin_of(bin), .end = report.begin_of(bin + 1)};
  if (content.is_damaged) return run;
  std::array<std::uint64_t, FileBin::kMostCodecs> bytes = content.stored;
  std::uint64_t in_chunks = 0;
  for (const std::uint64_t part : bytes) in_chunks += part;
  bytes[0] += run.end - run.begin - std::min(in_chunks, run.end - run.begin);
  run.codec = static_cast<std::size_t>(std::ranges::max_element(bytes) - bytes.begin());
  return run;
}

// Joins equal bins of a row.
std::vector<Run> runs_of(const FileReport& report, std::size_t first, std::size_t last) {
  std::vector<Run> runs;
  for (std::size_t bin = first; bin < last; ++bin) {
    const Run run = run_of(report, bin);
    if (!runs.empty() && runs.back().codec == run.codec) {
      runs.back().end = run.end;
    } else {
      runs.push_back(run);
    }
  }
  return runs;
}

std::size_t rows_for(std::uint64_t chunks) { return chunks <= 16 ? 1 : chunks <= 64 ? 2 : chunks <= 256 ? 4 : 8; }

std::string name_of(const FileReport& report, const std::optional<std::size_t>& codec) {
  if (!codec) return "damage";
  return *codec == 0                            ? "headers, indexes, gaps"
         : report.codecs[*codec].name == "none" ? "not compressed"
                                                : report.codecs[*codec].name;
}

std::string class_of(const std::optional<std::size_t>& codec) { return codec ? fmt::format("c{}", *codec) : "bad"; }

// Returns the bytes of damaged regions in the file; unreadable chunks count as a whole.
std::uint64_t damaged_bytes(const FileReport& report) {
  std::uint64_t bytes = 0;
  Position last = 0;
  for (const Finding& finding : report.verdict.findings) {  // sorted by their begin
    if (finding.impact == Impact::kNone) continue;
    const Position end = std::min(finding.end.value_or(finding.begin + 1), report.size);
    const Position begin = std::max(finding.begin, last);
    if (begin < end) bytes += end - begin;
    last = std::max(last, end);
  }
  return bytes;
}

bool has_damage(const FileReport& report) {
  return std::ranges::any_of(report.bins, [](const FileBin& bin) { return bin.is_damaged; });
}

std::string map_legend(const FileReport& report) {
  std::string items;
  std::uint64_t in_chunks = 0;
  for (std::size_t i = 1; i < report.codecs.size(); ++i) {
    in_chunks += report.codecs[i].stored;
    items += fmt::format("<li><span class=\"key {}\"></span>{} <b>{}</b></li>", class_of(i), html(name_of(report, i)),
                         percent(report.codecs[i].stored, report.size));
  }
  const std::uint64_t damaged = damaged_bytes(report);
  if (in_chunks < report.size) {
    items += fmt::format("<li><span class=\"key c0\"></span>{}</li>", name_of(report, 0));
  }
  if (has_damage(report)) {
    items += fmt::format("<li><span class=\"key bad\"></span>damage <b>{}</b></li>", percent(damaged, report.size));
  }
  return "<ul class=\"legend\">" + items + "</ul>\n";
}

std::string map_numbers(const FileReport& report) {
  std::string rows;
  for (std::size_t i = 0; i < report.codecs.size(); ++i) {
    const CodecSums& sums = report.codecs[i];
    if (sums.chunks == 0) continue;
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        html(name_of(report, i)), grouped(sums.chunks), grouped(sums.stored), grouped(sums.decoded),
                        sums.decoded == 0 ? "–" : fmt::format("{:.2f}", ratio_of(sums.decoded, sums.stored)));
  }
  return numbers(
      "<th scope=\"col\">codec</th><th scope=\"col\">chunks</th><th scope=\"col\">bytes in the file</th>"
      "<th scope=\"col\">bytes of records</th><th scope=\"col\">ratio</th>",
      rows);
}

// --- axes

// Returns the distance of at most `most` ticks up to `highest`: 1, 2 or 5 times a power of ten.
double tick_for(double highest, int most) {
  const double least = highest / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}

struct Axis {
  double highest = 1;  // value
  double tick = 1;
  int ticks = 1;
  double top = 0;  // pixels
  double bottom = 0;
  double y(double value) const { return bottom - (bottom - top) * std::min(value / highest, 1.0); }
};

Axis axis_to(double largest, double top, double bottom) {
  Axis axis{.tick = tick_for(largest, 4), .top = top, .bottom = bottom};
  axis.ticks = static_cast<int>(std::ceil(largest / axis.tick));
  axis.highest = axis.tick * axis.ticks;
  return axis;
}

template <class Label>
std::string grid(const Axis& axis, Label label) {
  std::string lines;
  for (int tick = 0; tick <= axis.ticks; ++tick) {
    const double value = tick * axis.tick;
    const double y = axis.y(value);
    lines += fmt::format(R"(<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>)", tick == 0 ? "base" : "grid",
                         px(kLeft), px(kWidth), px(y), px(y));
    lines += text_at(kLeft - 10, y + 4, "end", label(value)) + "\n";
  }
  return lines;
}

// --- compression

// Some bins together.
struct Stretch {
  double packed = 0;
  double decoded = 0;
  double ratio() const { return packed == 0 ? 0 : decoded / packed; }
};

constexpr std::size_t kStretches = 160;  // in the chart
constexpr std::size_t kRows = 16;        // in the table

std::vector<Stretch> stretches_of(const FileReport& report, std::size_t count) {
  count = std::min(count, report.bins.size());
  std::vector<Stretch> stretches(count);
  for (std::size_t bin = 0; bin < report.bins.size(); ++bin) {
    Stretch& stretch = stretches[bin * count / report.bins.size()];
    stretch.packed += report.bins[bin].packed;
    stretch.decoded += report.bins[bin].decoded;
  }
  return stretches;
}

Position begin_of(const FileReport& report, std::size_t stretch, std::size_t count) {
  const std::size_t bins = report.bins.size();
  return report.begin_of((stretch * bins + count - 1) / count);
}

std::string compression_numbers(const FileReport& report) {
  const auto stretches = stretches_of(report, kRows);
  std::string rows;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        grouped(begin_of(report, i, stretches.size())),
                        grouped(static_cast<std::uint64_t>(stretches[i].packed)),
                        grouped(static_cast<std::uint64_t>(stretches[i].decoded)),
                        stretches[i].packed == 0 ? "–" : fmt::format("{:.2f}", stretches[i].ratio()));
  }
  return numbers(
      "<th scope=\"col\">from byte</th><th scope=\"col\">bytes of chunks</th><th scope=\"col\">bytes of records</th>"
      "<th scope=\"col\">ratio</th>",
      rows);
}

// --- sizes

std::string label_of(const SizeHistogram::Bar& bar) {
  return bar.first == bar.last ? short_size(bar.first)
                               : fmt::format("{} to {} bytes", grouped(bar.first), grouped(bar.last));
}

// Returns a size that is short enough for an axis: "512", "2 Ki".
std::string axis_size(std::uint64_t size) {
  std::size_t unit = 0;
  constexpr std::array kUnits = {"", " Ki", " Mi", " Gi", " Ti", " Pi", " Ei"};
  auto amount = static_cast<double>(size);
  while (amount >= 1024) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g}{}", amount, kUnits.at(unit));
}

std::string axis_count(double count) {
  std::size_t unit = 0;
  constexpr std::array kUnits = {"", " k", " M", " G", " T", " P", " E"};
  while (count >= 10000 || (unit > 0 && count >= 1000)) {
    count /= 1000;
    ++unit;
  }
  return fmt::format("{:.4g}{}", count, kUnits.at(unit));
}

std::string size_numbers(const SizeHistogram& sizes, const std::vector<SizeHistogram::Bar>& bars) {
  std::string rows;
  for (const SizeHistogram::Bar& bar : bars) {
    if (bar.count == 0) continue;
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", label_of(bar), grouped(bar.count),
                        percent(bar.count, sizes.count()));
  }
  return numbers("<th scope=\"col\">size</th><th scope=\"col\">records</th><th scope=\"col\">share</th>", rows);
}

// --- values

// Returns the first characters of UTF-8, as many as fit.
std::string fitting(std::string_view text, double width) {
  constexpr double kCharacter = 7;  // pixels
  std::size_t size = 0;
  for (double left = width; left >= kCharacter && size < text.size(); left -= kCharacter) {
    size += std::max<std::size_t>(utf8_character(text.substr(size)), 1);
  }
  return std::string(text.substr(0, size)) + (size < text.size() ? "…" : "");
}

std::string value_numbers(const std::vector<CountedLabel>& values, std::uint64_t all) {
  std::string rows;
  for (const auto& [label, count] : values) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", html_isolated(label),
                        grouped(count), percent(count, all));
  }
  return numbers("<th scope=\"col\">value</th><th scope=\"col\">number</th><th scope=\"col\">share</th>", rows);
}

}  // namespace

std::string file_map(const FileReport& report) {
  constexpr double kTop = 4;
  constexpr double kRow = 26;
  constexpr double kGap = 8;
  constexpr double kMore = 3;  // height of damage above and below its row, for readers that do not see red
  const std::size_t rows = std::min(rows_for(report.verdict.chunks), report.bins.size());
  std::string drawing;
  const auto x_of = [&](std::size_t row, Position at) {
    const Position begin = report.begin_of(row * report.bins.size() / rows);
    const Position end = report.begin_of((row + 1) * report.bins.size() / rows);
    return kLeft + kDataWidth * ratio_of(at - begin, end - begin);
  };
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * report.bins.size() / rows;
    const std::size_t last = (row + 1) * report.bins.size() / rows;
    const double top = kTop + static_cast<double>(row) * (kRow + kGap);
    drawing += text_at(kLeft - 10, top + kRow / 2 + 4, "end", row == 0 ? "0" : short_size(report.begin_of(first)));
    for (const Run& run : runs_of(report, first, last)) {
      const double left = x_of(row, run.begin);
      drawing += fmt::format(
          "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}: bytes {} to {}</title></rect>\n",
          class_of(run.codec), px(left), px(run.codec ? top : top - kMore),
          px(std::max(x_of(row, run.end) - left, run.codec ? 0.1 : 3.0)), px(run.codec ? kRow : kRow + 2 * kMore),
          html(name_of(report, run.codec)), grouped(run.begin), grouped(run.end));
    }
    for (const Position boundary : report.boundaries) {
      if (boundary <= report.begin_of(first) || boundary >= report.begin_of(last)) continue;
      const std::string x = px(x_of(row, boundary));
      drawing += fmt::format(R"(<line class="cut" x1="{}" x2="{}" y1="{}" y2="{}"/>)", x, x, px(top), px(top + kRow));
    }
    drawing += "\n";
  }
  const double height = kTop + static_cast<double>(rows) * (kRow + kGap);
  const std::string label = fmt::format("Map of the file: {} in {}, {}", counted(report.verdict.chunks, "chunk"),
                                        short_size(report.size), has_damage(report) ? "with damage" : "without damage");
  return figure(height, label, drawing, map_legend(report) + map_numbers(report));
}

bool is_compressed(const FileReport& report) {
  return std::any_of(report.codecs.begin() + 1, report.codecs.end(),
                     [](const CodecSums& sums) { return sums.name != "none" && sums.decoded > 0; });
}

std::string compression_chart(const FileReport& report) {
  constexpr double kTop = 10;
  constexpr double kBottom = 170;
  constexpr double kHeight = 196;
  const auto stretches = stretches_of(report, kStretches);
  double largest = 1;
  for (const Stretch& stretch : stretches) largest = std::max(largest, stretch.ratio());
  const Axis axis = axis_to(largest, kTop, kBottom);
  std::string drawing = grid(axis, [](double value) { return fmt::format("{:.3g}×", value); });
  const double step = kDataWidth / static_cast<double>(stretches.size());
  std::string area;
  std::string line;
  bool is_open = false;
  double x = kLeft;
  for (std::size_t i = 0; i < stretches.size(); ++i, x += step) {
    const bool has_data = stretches[i].packed > 0;
    const std::string y = px(axis.y(stretches[i].ratio()));
    if (has_data) {
      line += fmt::format("{}{} {}H{}", is_open ? "L" : "M", px(x), y, px(x + step));
      area += is_open ? fmt::format("V{}H{}", y, px(x + step))
                      : fmt::format("M{} {}V{}H{}", px(x), px(kBottom), y, px(x + step));
    } else if (is_open) {
      area += fmt::format("V{}Z", px(kBottom));
    }
    is_open = has_data;
  }
  if (is_open) area += fmt::format("V{}Z", px(kBottom));
  drawing += fmt::format("<path class=\"area\" d=\"{}\"/>\n<path class=\"line\" d=\"{}\"/>\n", area, line);
  constexpr int kTicks = 4;
  for (int i = 0; i <= kTicks; ++i) {
    const double share = static_cast<double>(i) / kTicks;
    drawing += text_at(kLeft + kDataWidth * share, kBottom + 20,
                       i == 0        ? "start"
                       : i == kTicks ? "end"
                                     : "middle",
                       i == 0 ? "0" : short_size(static_cast<std::uint64_t>(static_cast<double>(report.size) * share)));
  }
  const std::string label = fmt::format("Bytes of records per byte of the file, along the file: up to {:.3g}", largest);
  return figure(kHeight, label, drawing + "\n", compression_numbers(report));
}

std::string size_chart(const SizeHistogram& sizes) {
  constexpr double kTop = 10;
  constexpr double kBottom = 190;
  constexpr double kHeight = 218;
  constexpr double kWidestBar = 96;
  constexpr double kGap = 2;
  constexpr double kLeast = 2;  // pixels, of a bar with a count
  constexpr std::size_t kMostLabels = 14;
  const auto bars = sizes.bars();
  std::uint64_t most = 1;
  for (const SizeHistogram::Bar& bar : bars) most = std::max(most, bar.count);
  const Axis axis = axis_to(static_cast<double>(most), kTop, kBottom);
  std::string drawing = grid(axis, axis_count);
  const double step = std::min(kDataWidth / static_cast<double>(bars.size()), kWidestBar);
  const std::size_t between = (bars.size() + kMostLabels - 1) / kMostLabels;
  double x = kLeft;
  for (std::size_t i = 0; i < bars.size(); ++i, x += step) {
    if (bars[i].count > 0) {
      const double y = std::min(axis.y(static_cast<double>(bars[i].count)), kBottom - kLeast);
      drawing +=
          fmt::format("<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}: {}</title></rect>\n",
                      px(x + kGap / 2), px(y), px(step - kGap), px(kBottom - y), label_of(bars[i]),
                      grouped(bars[i].count) + (bars[i].count == 1 ? " record" : " records"));
    }
    if (i % between == 0) drawing += text_at(x + step / 2, kBottom + 20, "middle", axis_size(bars[i].first)) + "\n";
  }
  const std::string label =
      fmt::format("Records by size in bytes: {} to {}", grouped(sizes.smallest()), short_size(sizes.largest()));
  return figure(kHeight, label, drawing, size_numbers(sizes, bars));
}

std::string value_chart(const std::vector<CountedLabel>& values, std::uint64_t all) {
  constexpr double kTop = 10;
  constexpr double kBottom = 110;
  constexpr double kHeight = 138;
  constexpr double kWidestBar = 96;
  constexpr double kGap = 2;
  constexpr double kLeast = 2;  // pixels, of a bar
  std::uint64_t most = 1;
  for (const CountedLabel& value : values) most = std::max(most, value.count);
  const Axis axis = axis_to(static_cast<double>(most), kTop, kBottom);
  std::string drawing = grid(axis, axis_count);
  const double step = std::min(kDataWidth / static_cast<double>(values.size()), kWidestBar);
  double x = kLeft;
  for (const auto& [label, count] : values) {
    const double y = std::min(axis.y(static_cast<double>(count)), kBottom - kLeast);
    drawing +=
        fmt::format("<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}: {}</title></rect>\n",
                    px(x + kGap / 2), px(y), px(step - kGap), px(kBottom - y), html(label), grouped(count));
    drawing += text_at(x + step / 2, kBottom + 20, "middle", fitting(label, step)) + "\n";
    x += step;
  }
  return figure(kHeight, "Number of each value", drawing, value_numbers(values, all));
}

}  // namespace recordfs
