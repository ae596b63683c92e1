#include "fusefs/commands/checked_databases.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "fusefs/commands/progress.h"
#include "fusefs/exit_status.h"

namespace recordfs {
namespace {

std::string path_in(const std::string& directory, const std::string& file) {
  return file.empty() ? directory : (std::filesystem::path(directory) / file).string();
}

Outcome outcome_of_stale_keys(const std::string& directory, Result<std::optional<Finding>> found) {
  Outcome outcome{.path = directory};
  if (!found) {
    outcome.failure = std::move(found).error();
  } else {
    outcome.verdict.emplace().findings.push_back(std::move(**found));
  }
  return outcome;
}

}  // namespace

Result<std::vector<std::string>> CheckedDatabases::check(const std::string& directory) {
  ASSIGN_OR_RETURN(auto checked, check_database(directory, options_));
  const DatabaseCheck& kept = checks_.emplace_back(std::move(checked));
  std::vector<std::string> paths;
  for (const database::File& file : kept.files) {
    paths.push_back(path_in(directory, file.name));
    if (file.state == database::File::State::kLive) live_.emplace(paths.back(), &file);
  }
  for (const auto& [file, position] : kept.ends_of_logs) ends_of_logs_[path_in(directory, file)] = position;
  for (const auto& [file, findings] : kept.findings) {
    findings_[path_in(directory, file)] = findings;
    for (const Finding& finding : findings) is_damaged_[directory] |= finding.status == kExitDamage;
  }
  is_damaged_.try_emplace(directory, false);
  return paths;
}

const database::File* CheckedDatabases::live_file(const std::string& path) const {
  const auto found = live_.find(path);
  return found == live_.end() ? nullptr : found->second;
}

bool CheckedDatabases::is_live_table(const std::string& path) const {
  const auto* const file = live_file(path);
  return file != nullptr && file->kind == database::FileKind::kTable;
}

void CheckedDatabases::complete(Outcome& outcome) {
  add_findings(outcome);
  const auto database = is_damaged_.find(std::filesystem::path(outcome.path).parent_path().string());
  if (database != is_damaged_.end()) {
    database->second |= outcome.status() == kExitDamage;
    outcome.may_be_empty = true;
  }
  if (live_file(outcome.path) != nullptr) outcome.may_be_empty = true;
}

// Leaves out damage that the check of the file has found too. Damage in a surplus file costs nothing: it may be the
// unfinished table of a writer that was killed.
void CheckedDatabases::add_findings(Outcome& outcome) {
  drop_end_of_log(outcome);
  auto found = findings_.extract(outcome.path);
  if (found.empty()) return;
  const int known = outcome.status();
  if (!outcome.verdict) outcome.verdict.emplace();
  const auto is_unused = [](const Finding& finding) { return finding.word == kSurplus || finding.word == kSpare; };
  if (std::ranges::any_of(found.mapped(), is_unused)) {
    for (Finding& finding : outcome.verdict->findings) finding.status = kExitGood;
  }
  for (Finding& finding : found.mapped()) {
    const bool is_damage = finding.word == "damage" || finding.word == "unsupported";
    if (finding.word == kSpare || (is_damage && known != kExitGood && worse_of(known, finding.status) == known))
      continue;
    outcome.verdict->findings.push_back(std::move(finding));
  }
}

// An older log may have left any bytes after the end of a recycled one, which the database does not read.
void CheckedDatabases::drop_end_of_log(Outcome& outcome) const {
  const auto end = ends_of_logs_.find(outcome.path);
  if (end == ends_of_logs_.end() || !outcome.verdict) return;
  std::erase_if(outcome.verdict->findings, [&](const Finding& finding) {
    return finding.is_region && finding.word == "damage" && finding.begin == end->second;
  });
}

void CheckedDatabases::each_left(const std::function<void(const Outcome&)>& take) {
  while (!findings_.empty() && !Interruption::came()) {
    Outcome outcome{.path = findings_.begin()->first};
    add_findings(outcome);
    take(outcome);
  }
  for (const auto& [directory, is_damaged] : is_damaged_) {
    if (!is_damaged || Interruption::came()) continue;
    auto found = find_stale_keys(directory, options_);
    if (!found || *found) take(outcome_of_stale_keys(directory, std::move(found)));
  }
}

}  // namespace recordfs
