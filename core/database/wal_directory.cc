#include "core/database/wal_directory.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/location.h"
#include "core/database/directory.h"

namespace recordfs::database {
namespace {

struct Candidate {
  std::string name;
  SourceStatus status;
};

bool is_same(const SourceStatus& a, const SourceStatus& b) { return a.id.source == b.id.source; }

// Returns whether both have the same owner, as far as the storage tells.
bool has_owner_of(const SourceStatus& a, const SourceStatus& b) {
  return !a.owner || !b.owner || a.owner->uid == b.owner->uid;
}

// Returns the last component of a path; empty for "/".
std::string_view last_component(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

// A directory with a CURRENT is a database. RocksDB states its own directory as wal_dir in old versions.
bool is_database_itself(const OpenFiles& files, const std::string& name) {
  return status_of({}, files.location(name + "/CURRENT")).has_value();
}

}  // namespace

WalDirectory find_wal_directory(const std::string& directory, const std::string& wal_dir) {
  const OpenFiles files(directory, 0, {});
  const std::string_view last = last_component(wal_dir);
  const auto own = status_of({}, directory);
  if (wal_dir.empty() || last.empty() || !own) return {};
  std::vector<Candidate> found;
  bool is_own = false;
  bool has_other_owner = false;
  const auto consider = [&](std::string name) {
    const auto status = status_of({}, files.location(name));
    if (!status || status->kind != SourceKind::kDirectory) return;
    if (is_same(*status, *own)) {
      is_own = true;
    } else if (!has_owner_of(*status, *own)) {
      has_other_owner = true;
    } else if (!is_database_itself(files, name)) {
      const auto is_known = [&](const Candidate& other) { return is_same(other.status, *status); };
      if (std::ranges::none_of(found, is_known)) found.push_back({std::move(name), *status});
    }
  };
  const bool is_absolute = wal_dir.starts_with('/');
  if (!is_absolute) consider(wal_dir);
  consider(fmt::format("../{}", last));
  // The path of another machine means nothing here.
  if (is_absolute && Location(directory).is_local()) consider(wal_dir);
  if (found.empty() && is_own) return {};
  if (found.empty()) {
    const std::string_view why = has_other_owner ? "belongs to another user" : "does not exist";
    return {.problem =
                Error{.code = Code::kNotFound,
                      .detail = fmt::format("the directory of the write-ahead logs, {}, {}; the newest writes may "
                                            "be missing (try: --wal-dir DIR)",
                                            wal_dir, why)}};
  }
  WalDirectory result{.name = found.front().name, .problem = {}};
  if (found.size() > 1 && !is_own) {
    result.problem = Error{.code = Code::kUnsupported,
                           .detail = fmt::format("the write-ahead logs may be in {} or {} (try: --wal-dir DIR)",
                                                 found[0].name, found[1].name)};
  }
  return result;
}

}  // namespace recordfs::database
