// Lists the files of a command line, and those below its directories.
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
// files below it, sorted by name. Follows symbolic links on the command line only.
void list_files(const std::vector<std::string>& paths, bool descends, const std::function<bool(ListedFile file)>& take);

// Reads names that each end with a zero byte from a file; "-" is standard input. Fails with kIo.
Result<std::vector<std::string>> read_names(const std::string& path);

}  // namespace recordfs
