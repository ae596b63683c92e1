#include "core/verify/checked_databases.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/database/directory.h"
#include "core/database/key_text.h"
#include "core/database/uncertain_keys.h"
#include "core/store/at_once.h"
#include "core/verify/database_check.h"

namespace recordfs {
namespace {

using database::FileKind;
using State = database::File::State;

// The kind of finding for a file that the MANIFEST names and that is not there.
constexpr std::string_view kMissing = "missing";
// The same for a file that the database does not use.
constexpr std::string_view kSurplus = "surplus";
// The same for an old log of RocksDB, which keeps logs to write over them, or for readers. Not worth a line.
constexpr std::string_view kSpare = "spare";

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

bool is_verified_alone(const database::File& file) {
  const bool has_records = file.kind == FileKind::kManifest || file.kind == FileKind::kLog ||
                           file.kind == FileKind::kTable || file.kind == FileKind::kBlob;
  return has_records && file.state != State::kMissing;
}

// `is_current`: the database uses it as its MANIFEST, also if it is damaged, and so not part of the state.
std::optional<Finding> finding_of(const database::File& file, bool is_current, bool keeps_logs) {
  if (file.state == State::kMissing) {
    return finding_of_file(kMissing, "the MANIFEST names this file, and it does not exist", Impact::kDamage);
  }
  if (file.state == State::kObsolete && !is_current) {
    const bool is_spare = file.kind == FileKind::kLog && keeps_logs;
    return finding_of_file(is_spare ? kSpare : kSurplus, "not part of the database's state", Impact::kNone);
  }
  if (!file.expected_size || *file.expected_size == file.size) return std::nullopt;
  return finding_of_file("wrong size", fmt::format("{} bytes, and {} in the MANIFEST", file.size, *file.expected_size),
                         Impact::kDamage);
}

// Returns why the value of the current key, or a column of it, cannot be read from its blob file; nullopt if it can.
std::optional<Error> why_unreadable(const database::KeyIterator& keys) {
  if (keys.version().operation == database::Operation::kPutEntity) {
    if (const auto columns = keys.columns({}); !columns) return columns.error();
  }
  if (!keys.version().is_in_blob_file) return std::nullopt;
  const auto value = keys.value({});
  return value ? std::nullopt : std::optional(value.error());
}

// Returns the findings for values that cannot be read from blob files.
Result<std::vector<Finding>> unreadable_values(const database::Database& database) {
  constexpr std::size_t kMostValues = 1000;  // that are reported
  std::vector<Finding> found;
  if (database.summary().blob_files == 0) return found;
  for (const database::Family& family : database.families()) {
    const auto keys = database.keys(family.id, {});
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_key, keys->next({}));
      if (!has_key) break;
      const auto failure = why_unreadable(*keys);
      if (!failure || found.size() == kMostValues) continue;
      const std::string reason = fmt::format("key {}: {}", escaped_key(keys->key()), failure->detail);
      found.push_back(finding_of_file("value", reason, impact_of_reading(*failure)));
    }
  }
  return found;
}

}  // namespace

Result<std::vector<std::string>> CheckedDatabases::check(const std::string& directory) {
  ASSIGN_OR_RETURN(const auto database, database::Database::open({}, directory, options_));
  const database::OpenFiles files(directory, 1, {});
  const std::string current = database::read_current({}, files).value_or(std::string());  // empty: unknown
  const bool keeps_logs = database->summary().engine == "RocksDB";
  FindingsByPath found;
  // A table that cannot be read at present is reported when it is verified itself.
  const auto at_once = [this](std::size_t count, const auto& call) { call_at_once(threads_, count, call); };
  if (auto read = database->open_tables({}, at_once); !read && database::is_gone(read.error())) {
    return std::move(read).error();
  }
  ASSIGN_OR_RETURN(auto values, unreadable_values(*database));
  if (!values.empty()) found[directory] = std::move(values);
  std::vector<std::string> paths;
  for (const database::File& file : database->files()) {
    const std::string path = path_in(directory, file.name);
    if (auto finding = finding_of(file, file.name == current, keeps_logs)) found[path].push_back(std::move(*finding));
    if (!is_verified_alone(file)) continue;
    paths.push_back(path);
    if (file.state == State::kLive) live_.emplace(path, file);
  }
  // Last, because reading may find more.
  for (const database::Problem& problem : database->problems()) {
    const std::string path = path_in(directory, problem.file);
    const bool is_end = !problem.loses_data && problem.error.code == Code::kUnfinished;
    if (is_end) ends_of_logs_.emplace(path, problem.error.position);
    std::vector<Finding>& known = found[path];
    if (!problem.loses_data || (!known.empty() && known.front().word == kMissing)) continue;
    known.push_back(finding_of_file(word_of(problem.error), reason_of(problem), impact_of(problem)));
  }
  bool& is_damaged = is_damaged_[directory];
  for (auto& [path, findings] : found) {
    if (findings.empty()) continue;
    is_damaged |= std::ranges::any_of(findings, [](const Finding& each) { return each.impact == Impact::kDamage; });
    findings_[path] = std::move(findings);
  }
  return paths;
}

const database::File* CheckedDatabases::live_file(const std::string& path) const {
  const auto found = live_.find(path);
  return found == live_.end() ? nullptr : &found->second;
}

bool CheckedDatabases::is_live_table(const std::string& path) const {
  const auto* const file = live_file(path);
  return file != nullptr && file->kind == database::FileKind::kTable;
}

void CheckedDatabases::check_file(const std::string& path, const Source& source, const std::function<bool()>& goes_on,
                                  Verdict& verdict) const {
  const auto* const file = live_file(path);
  if (file == nullptr || !is_known(file->checksum)) return;
  if (auto finding = compare_checksum(source, file->checksum, goes_on)) verdict.findings.push_back(*std::move(finding));
  verdict.without_checksum = 0;
}

void CheckedDatabases::complete(Outcome& outcome) {
  add_findings(outcome);
  const auto database = is_damaged_.find(std::filesystem::path(outcome.path).parent_path().string());
  if (database != is_damaged_.end()) {
    database->second |= outcome.impact() == Impact::kDamage;
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
  const Impact known = outcome.impact();
  if (!outcome.verdict) outcome.verdict.emplace();
  const auto is_unused = [](const Finding& finding) { return finding.word == kSurplus || finding.word == kSpare; };
  if (std::ranges::any_of(found.mapped(), is_unused)) {
    for (Finding& finding : outcome.verdict->findings) finding.impact = Impact::kNone;
  }
  for (Finding& finding : found.mapped()) {
    const bool is_damage = finding.word == "damage" || finding.word == "unsupported";
    if (finding.word == kSpare || (is_damage && known != Impact::kNone && std::max(known, finding.impact) == known))
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

void CheckedDatabases::each_left(const std::function<void(const Outcome&)>& take,
                                 const std::function<bool()>& goes_on) {
  while (!findings_.empty() && goes_on()) {
    Outcome outcome{.path = findings_.begin()->first};
    add_findings(outcome);
    take(outcome);
  }
  for (const auto& [directory, is_damaged] : is_damaged_) {
    if (!is_damaged || !goes_on()) continue;
    auto found = find_stale_keys(directory, options_, goes_on);
    if (!found || *found) take(outcome_of_stale_keys(directory, std::move(found)));
  }
}

}  // namespace recordfs
