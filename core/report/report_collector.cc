#include "core/report/report_collector.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/database/uncertain_keys.h"

namespace recordfs {

void ReportCollector::check_database(const std::string& directory) {
  const std::string without_slash = std::filesystem::path(directory).append("").parent_path().string();
  const auto checked = databases_.check(without_slash);
  if (!checked) reporter_.fail(impact_of_opening(checked.error()), open_failure(directory, checked.error()));
}

bool ReportCollector::add(const NamedFile& file) {
  if (file.missing) {
    const MissingShards& missing = *file.missing;
    const std::string why = missing.count > 1
                                ? fmt::format("shards {} ({}) are missing", missing.numbers, missing.count)
                                : std::string("missing");
    report_.add_failure(file.path, "missing", why, missing.count);
    return reporter_.goes_on();
  }
  auto read = this->read(file);
  if (!reporter_.goes_on()) return false;
  if (read) {
    report_.add(file.path, std::move(*read));
  } else {
    report_.add_failure(file.path, "unreadable", read.error().detail);
  }
  return true;
}

// Fails after reporting why the file cannot be read, or if the job should end.
Result<FileReport> ReportCollector::read(const NamedFile& file) {
  const auto opened = caller_.open(file.path);
  if (!opened) {
    reporter_.report_unopened(file.path, opened.error());
    return opened.error();
  }
  const RecordStore& store = *opened->store;
  caller_.expects(store.source().size());
  auto found = report_of(store, {.path = file.path, .path_in_set = path_in_set(file.path, file.bytes_in_set)}, choice_,
                         reporter_.threads(), [this](std::uint64_t bytes) {
                           caller_.has_read(bytes);
                           return reporter_.goes_on();
                         });
  if (!found) {
    reporter_.report_failure(file.path, found.error());
    return found;
  }
  if (found->verdict.was_stopped) return Error{.code = Code::kInterrupted, .detail = {}};
  check_as_file_of_database(file.path, store.source(), found->verdict);
  for (const Error& why : found->failures) reporter_.report(store, why);
  declare_types_of(opened->store, choice_.types, found->columns);
  for (const Finding& finding : found->verdict.findings) reporter_.note(finding.impact);
  if (const auto unchecked = finding_without_checksums(found->verdict)) {
    reporter_.fail(unchecked->impact, fmt::format("{}: {}", file.path, unchecked->reason));
  }
  return found;
}

// Adds what the database of a file says of it.
void ReportCollector::check_as_file_of_database(const std::string& path, const Source& source, Verdict& verdict) {
  Outcome outcome{.path = path, .verdict = std::move(verdict)};
  databases_.check_file(
      path, source, [this] { return reporter_.goes_on(); }, *outcome.verdict);
  databases_.complete(outcome);
  verdict = *std::move(outcome.verdict);
}

void ReportCollector::finish() {
  databases_.each_left([this](const Outcome& outcome) { add(outcome); }, [this] { return reporter_.goes_on(); });
}

// Adds a file that is missing or cannot be opened, or a database.
void ReportCollector::add(const Outcome& outcome) {
  reporter_.note(outcome.impact());
  if (outcome.failure) report_.add_failure(outcome.path, "unreadable", outcome.failure->detail);
  if (!outcome.verdict) return;
  const std::vector<Finding>& found = outcome.verdict->findings;
  const auto missing = std::ranges::find(found, "missing", &Finding::word);
  if (missing == found.end()) return report_.add_findings(outcome.path, found);
  report_.add_failure(outcome.path, missing->word, missing->reason);
}

}  // namespace recordfs
