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

}  // namespace recordfs
