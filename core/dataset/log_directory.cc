#include "core/dataset/log_directory.h"

#include <algorithm>
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

class RunFinder {
 public:
  RunFinder(const std::string& top, const NamingBounds& bounds)
      : top_(top), bounds_(bounds), real_top_(real_path(top)), seen_{real_top_} {}

  Result<std::vector<std::string>> find() {
    std::vector<Directory> open{{.path = top_, .level = 0}};
    while (!open.empty()) {
      const Directory directory = std::move(open.back());
      open.pop_back();
      ASSIGN_OR_RETURN(auto inner, list(directory));
      // The first one is the next.
      std::ranges::sort(inner, [](const std::string& a, const std::string& b) { return is_before(b, a); });
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
    const auto take = [&](const ListedEntry& entry) -> Result<void> {
      if (entry.name.starts_with('.')) return {};
      if (entry.kind == SourceKind::kDirectory) inner.push_back(location.child(entry.name).text());
      const bool is_run = directory.level > 0 && entry.kind == SourceKind::kFile && has_run_name(entry.name);
      if (is_run) files.push_back(location.child(entry.name).text());
      return {};
    };
    const auto listed = location.storage().list({}, location, {}, take);
    if (!listed) return with_path(directory.path, listed.error().code, listed.error().detail, listed.error().os_error);
    std::ranges::sort(files, is_before);
    std::ranges::move(files, std::back_inserter(found_));
    if (found_.size() > bounds_.shards) return too_many(top_, bounds_);
    std::erase_if(inner, [&](const std::string& path) { return !is_new(directory.path, path); });
    if (directory.level == kMostLevels && !inner.empty()) {
      return with_path(directory.path, Code::kLimit, "too many levels of directories");
    }
    if (seen_.size() > kMostDirectories) return with_path(top_, Code::kLimit, "too many directories");
    return inner;
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
  std::vector<std::string> found_;
};

}  // namespace

Result<std::vector<std::string>> runs_below(const std::string& directory, const NamingBounds& bounds) {
  return RunFinder(directory, bounds).find();
}

}  // namespace recordfs
