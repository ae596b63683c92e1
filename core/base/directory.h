// Lists the files of a directory.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"

struct stat;

namespace recordfs {

// Calls `take` with the name and the status of each entry that is a regular file, or a symbolic link to one, until it
// fails. In any order. Fails with kIo, and like `take`. Throws std::bad_alloc, where std::filesystem ends the program.
// Thread-safe.
Result<void> each_regular_file(
    const std::string& directory,
    const std::function<Result<void>(const std::string& name, const struct stat& status)>& take);

}  // namespace recordfs
