// Lists the files of a command line, and those below its directories.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

struct ListedFile {
  std::string path;
  bool was_found = false;  // below a directory, not named itself
};

// Calls `take` for each path, in order. If `descends`, replaces a directory by all regular files below it, sorted by
// name. Follows symbolic links on the command line only. Reports what cannot be listed to `fail`. Either callback ends
// the list by returning false.
void list_files(const std::vector<std::string>& paths, bool descends, const std::function<bool(ListedFile file)>& take,
                const std::function<bool(const std::string& path, const Error& why)>& fail);

// Reads names that each end with a zero byte from a file; "-" is standard input. Fails with kIo.
Result<std::vector<std::string>> read_names(const std::string& path);

}  // namespace recordfs
