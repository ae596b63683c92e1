// The files that paths name, and those below directories.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

struct ListedFile {
  std::string path;
  bool was_found = false;          // below a directory, not named itself
  std::optional<Error> failure{};  // why it, or the files below it, cannot be listed
};

// Calls `take` for each path, in order, until it returns false. If `descends`, replaces a directory by all regular
// files below it, sorted by name. Follows symbolic links among the paths only. Asks servers about several at a time.
void each_file(const std::vector<std::string>& paths, bool descends, const std::function<bool(ListedFile file)>& take);

// Which files are wanted, by patterns of glob(7) for names without directories.
struct FileFilter {
  std::vector<std::string> included{};  // empty: all
  std::vector<std::string> excluded{};
  std::vector<std::string> excluded_directories{};  // that a file is in, at any depth

  // Returns whether a path is wanted. A pattern with slashes is for the end of the path. Thread-safe.
  bool wants(const std::string& path) const;
};

}  // namespace recordfs
