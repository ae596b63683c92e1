#include "fusefs/commands/report/set_survey.h"

#include <utility>
#include <variant>

#include "fusefs/exit_status.h"

namespace recordfs {

void SetSurvey::keep(const std::string& path, const Finding& finding) {
  ++all_findings;
  if (findings.size() == kMostShownFindings) return;
  findings.push_back(finding);
  finding_files.push_back(path);
}

void SetSurvey::add(const std::string& path, FileSurvey&& survey) {
  FindingSums of_file;
  for (const Finding& finding : survey.verdict.findings) {
    of_file.add(finding);
    sums.add(finding);
    keep(path, finding);
  }
  const auto* const name = survey.info.find("format");
  const auto* const format = name == nullptr ? nullptr : std::get_if<std::string>(name);
  ++files;
  faulty += of_file.damaged + of_file.unread > 0 ? 1 : 0;
  size += survey.size;
  records += survey.verdict.records;
  bytes += survey.verdict.bytes;
  chunks += survey.verdict.chunks;
  if (format != nullptr) formats.insert(*format);
  sizes.add(survey.sizes);
  (survey.has_keys ? keys : parts).add(survey.parts);
  if (rows.size() < kMostRows) {
    rows.push_back({.path = path,
                    .format = format == nullptr ? "" : *format,
                    .size = survey.size,
                    .records = survey.verdict.records,
                    .bytes = survey.verdict.bytes,
                    .damaged = of_file.damaged,
                    .unread = of_file.unread});
  }
  first_file.reset();
  if (files == 1) first_file = std::move(survey);
}

void SetSurvey::add_failure(const std::string& path, std::string_view word, std::string reason, std::uint64_t count) {
  files += count;
  failed += count;
  keep(path, {.word = word, .reason = reason, .is_of_whole_file = true, .status = kExitCannotOpen});
  if (rows.size() < kMostRows) rows.push_back({.path = path, .failure = std::move(reason)});
}

}  // namespace recordfs
