#include "core/dataset/log_directory.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/storage.h"
#include "core/dataset/natural_order.h"
#include "core/dataset/path_errors.h"
#include "core/dataset/real_paths.h"
#include "core/formats/run_names.h"

namespace recordfs {
namespace {

constexpr std::size_t kMostLevels = 64;
constexpr std::size_t kMostDirectories = 100'000;
constexpr std::size_t kMostProbed = 1000;  // of remote directories

Error failed_to_list(const std::string& path, const Error& error) {
  return with_path(path, error.code, error.detail, error.os_error);
}

bool is_run(const ListedEntry& entry) {
  return entry.kind == SourceKind::kFile && !entry.name.starts_with('.') && has_run_name(entry.name);
}

class RunFinder {
 public:
  RunFinder(const std::string& top, const NamingBounds& bounds)
      : top_(top), bounds_(bounds), real_top_(real_path(top)), seen_{real_top_} {}

  Result<LogDirectory> find() {
    std::vector<Directory> open{{.path = top_, .level = 0}};
    while (!open.empty()) {
      const Directory directory = std::move(open.back());
      open.pop_back();
      ASSIGN_OR_RETURN(auto inner, list(directory));
      // The first one is the next.
      std::ranges::sort(inner, [](const std::string& a, const std::string& b) { return is_before(b, a); });
      if (directory.level == 0) {
        ASSIGN_OR_RETURN(const bool is_log_directory, may_descend(inner));
        if (!is_log_directory) break;
      }
      for (std::string& path : inner) open.push_back({.path = std::move(path), .level = directory.level + 1});
    }
    return std::move(found_);
  }

 private:
  struct Directory {
    std::string path;
    std::size_t level;
  };

  // Finds the runs in a directory. Returns its subdirectories that are not known.
  Result<std::vector<std::string>> list(const Directory& directory) {
    const Location location(directory.path);
    std::vector<std::string> files;
    std::vector<std::string> inner;
    bool has_failed = false;  // to take an entry
    const auto take = [&](const ListedEntry& entry) -> Result<void> {
      if (entry.name.starts_with('.')) return {};
      std::string path = location.child(entry.name).text();
      if (entry.kind == SourceKind::kOther && is_refused(path)) found_.unreadable.push_back(path + '/');
      if (directory.level == 0) top_has_run_ = top_has_run_ || is_run(entry);
      if (directory.level > 0 && is_run(entry)) files.push_back(path);
      if (entry.kind == SourceKind::kDirectory) inner.push_back(std::move(path));
      auto taken = check_counts(files.size(), inner.size());
      has_failed = !taken;
      return taken;
    };
    const auto listed = location.storage().list({}, location, {}, take);
    if (!listed && has_failed) return listed.error();
    if (!listed && (directory.level == 0 || !may_pass_over(listed.error()))) {
      return failed_to_list(directory.path, listed.error());
    }
    if (!listed && !is_not_there(listed.error())) found_.unreadable.push_back(directory.path + '/');
    std::ranges::sort(files, is_before);
    std::ranges::move(files, std::back_inserter(found_.runs));
    std::erase_if(inner, [&](const std::string& path) { return !is_new(directory.path, path); });
    if (directory.level == kMostLevels && !inner.empty()) {
      return with_path(directory.path, Code::kLimit, "too many levels of directories");
    }
    return inner;
  }

  // `runs` and `directories`: those of the directory that is listed.
  Result<void> check_counts(std::size_t runs, std::size_t directories) const {
    if (found_.runs.size() + found_.unreadable.size() + runs > bounds_.shards) return too_many(top_, bounds_);
    if (seen_.size() + directories > kMostDirectories) return with_path(top_, Code::kLimit, "too many directories");
    return {};
  }

  // Returns whether others can be read after a subdirectory that failed so.
  static bool may_pass_over(const Error& error) {
    return is_not_there(error) || error.os_error == EACCES || error.os_error == EPERM;
  }

  // Returns whether it is unknown if this is a directory.
  static bool is_refused(const std::string& path) {
    const auto status = status_of({}, path);
    return !status && !is_not_there(status.error()) && may_pass_over(status.error());
  }

  // Returns whether the subdirectories of the top one are listed: many requests if it is remote.
  Result<bool> may_descend(const std::vector<std::string>& inner) const {
    if (top_has_run_ || Location(top_).is_local()) return true;
    const std::size_t probed = std::min(inner.size(), kMostProbed);
    for (std::size_t i = 0; i < probed; ++i) {
      const Location location(inner[inner.size() - 1 - i]);
      bool has_run = false;
      const auto listed = location.storage().list({}, location, {}, [&](const ListedEntry& entry) -> Result<void> {
        has_run = has_run || is_run(entry);
        return {};
      });
      if (has_run) return true;
      if (!listed && !may_pass_over(listed.error())) return failed_to_list(location.text(), listed.error());
    }
    return false;
  }

  std::string real_path(const std::string& directory) {
    std::string path = real_paths_.of(Location(directory).child("x").text());
    path.resize(path.rfind('/') + 1);
    return path;
  }

  // Notes a subdirectory. A link to another one in the top directory is not new, even if that is seen later.
  bool is_new(const std::string& parent, const std::string& path) {
    std::string real = real_path(path);
    const std::string unlinked = real_path(parent) + path.substr(path.rfind('/') + 1) + '/';
    const bool is_link_inside = real != unlinked && real.starts_with(real_top_);
    return !is_link_inside && seen_.insert(std::move(real)).second;
  }

  const std::string& top_;
  const NamingBounds& bounds_;
  RealPaths real_paths_;
  const std::string real_top_;  // with a slash at its end, as all real paths here
  std::set<std::string> seen_;  // real paths
  bool top_has_run_ = false;
  LogDirectory found_;
};

}  // namespace

Result<LogDirectory> runs_below(const std::string& directory, const NamingBounds& bounds) {
  return RunFinder(directory, bounds).find();
}

}  // namespace recordfs
