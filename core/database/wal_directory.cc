#include "core/database/wal_directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/database/directory.h"

namespace recordfs::database {
namespace {

struct Candidate {
  std::string name;
  struct stat status {};
};

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// Returns the last component of a path; empty for "/".
std::string_view last_component(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

// A directory with a CURRENT is a database. RocksDB states its own directory as wal_dir in old versions.
bool is_database_itself(const OpenFiles& files, const std::string& name) {
  struct stat status {};
  return ::stat(files.path(name + "/CURRENT").c_str(), &status) == 0;
}

}  // namespace

WalDirectory find_wal_directory(const std::string& directory, const std::string& wal_dir) {
  const OpenFiles files(directory, 0, {});
  const std::string_view last = last_component(wal_dir);
  struct stat own {};
  if (wal_dir.empty() || last.empty() || ::stat(directory.c_str(), &own) != 0) return {};
  std::vector<Candidate> found;
  bool is_own = false;
  bool has_other_owner = false;
  const auto consider = [&](std::string name) {
    Candidate candidate{.name = std::move(name)};
    if (::stat(files.path(candidate.name).c_str(), &candidate.status) != 0 || !S_ISDIR(candidate.status.st_mode))
      return;
    if (is_same(candidate.status, own)) {
      is_own = true;
    } else if (candidate.status.st_uid != own.st_uid) {
      has_other_owner = true;
    } else if (!is_database_itself(files, candidate.name)) {
      const auto is_known = [&](const Candidate& other) { return is_same(other.status, candidate.status); };
      if (std::ranges::none_of(found, is_known)) found.push_back(std::move(candidate));
    }
  };
  if (!wal_dir.starts_with('/')) consider(wal_dir);
  consider(fmt::format("../{}", last));
  if (wal_dir.starts_with('/')) consider(wal_dir);
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
