#include "core/report/set_report.h"

#include <utility>
#include <variant>

namespace recordfs {

void SetReport::keep(const std::string& path, const Finding& finding) {
  ++all_findings;
  if (findings.size() == kMostShownFindings) return;
  findings.push_back(finding);
  finding_files.push_back(path);
}

void SetReport::add(const std::string& path, FileReport&& report) {
  FindingSums of_file;
  for (const Finding& finding : report.verdict.findings) {
    of_file.add(finding);
    sums.add(finding);
    keep(path, finding);
  }
  const auto* const name = report.info.find("format");
  const auto* const format = name == nullptr ? nullptr : std::get_if<std::string>(name);
  ++files;
  unchecked += finding_without_checksums(report.verdict) ? 1 : 0;
  faulty += of_file.damaged + of_file.unread > 0 ? 1 : 0;
  size += report.size;
  records += report.verdict.records;
  bytes += report.verdict.bytes;
  chunks += report.verdict.chunks;
  if (format != nullptr) formats.insert(*format);
  sizes.add(report.sizes);
  (report.has_keys ? keys : parts).add(report.parts);
  columns.add(report.columns);
  undecoded.add(report.undecoded);
  if (thumbnails.images.empty()) thumbnails = std::move(report.thumbnails);
  if (rows.size() < kMostRows) {
    rows.push_back({.path = path,
                    .format = format == nullptr ? "" : *format,
                    .size = report.size,
                    .records = report.verdict.records,
                    .bytes = report.verdict.bytes,
                    .damaged = of_file.damaged,
                    .unread = of_file.unread});
  }
  first_file.reset();
  if (files == 1) first_file = std::move(report);
}

void SetReport::add_findings(const std::string& path, const std::vector<Finding>& found) {
  FindingSums of_path;
  for (const Finding& finding : found) {
    of_path.add(finding);
    sums.add(finding);
    keep(path, finding);
  }
  if (of_path.damaged + of_path.unread == 0) return;
  ++faulty;
  if (rows.size() == kMostRows) return;
  rows.push_back({.path = path, .damaged = of_path.damaged, .unread = of_path.unread});
}

void SetReport::add_failure(const std::string& path, std::string_view word, std::string reason, std::uint64_t count) {
  files += count;
  failed += count;
  keep(path, finding_of_file(word, reason, Impact::kUnopened));
  if (rows.size() < kMostRows) rows.push_back({.path = path, .failure = std::move(reason)});
}

}  // namespace recordfs
