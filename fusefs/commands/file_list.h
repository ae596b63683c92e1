// The files that a command line names, and those below the directories that it names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

struct ListedFile {
  std::string path;
  bool was_found = false;  // below a directory; otherwise somebody named it
};

// Calls `take` for each of `paths` in their order. Where `descends`, a directory stands for all regular files below it,
// those of a directory by their names; symbolic links count where they are named and nowhere else. `fail` is told of
// what can't be listed. Both return false to end the list.
void list_files(const std::vector<std::string>& paths, bool descends, const std::function<bool(ListedFile file)>& take,
                const std::function<bool(const std::string& path, const Error& why)>& fail);

// The names in a file that holds them with a zero byte behind each; "-" is standard input. Fails with kIo.
Result<std::vector<std::string>> read_names(const std::string& path);

}  // namespace recordfs
