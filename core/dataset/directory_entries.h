// The entries of a directory, of which some are shards of a data set.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/base/storage.h"

namespace recordfs {

// Calls `take` with each entry until it fails. Fails as `take`, and with kIo; the detail then begins with the path.
// Thread-safe.
Result<void> each_entry_in(const Location& directory,
                           const std::function<Result<void>(const ListedEntry& entry)>& take);

// Calls `take` likewise with the name of each entry that is or links to a regular file.
Result<void> each_file_in(const Location& directory, const std::function<Result<void>(const std::string& name)>& take);

// Returns the path of an entry with this name. Thread-safe.
std::string in_directory(const std::string& directory, const std::string& name);

}  // namespace recordfs
