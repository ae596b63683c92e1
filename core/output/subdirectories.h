// Files in subdirectories of the directory that a command writes to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs {

// Returns whether a path names a file below a directory: it is relative and has no zero byte, and none of its names is
// empty, "." or "..". Thread-safe.
bool is_path_below(std::string_view path);

// Returns the error of a file that cannot be written because its directory does not exist.
Error no_directory(std::string_view directory);

// Opens the directory of a file whose path begins at the directory `top`. Follows no symbolic link, so everything that
// is opened is below `top`. Creates missing directories and appends their paths to `created`, unless that is null.
// Fails with kIo: EINVAL unless is_path_below(path), ENOTDIR at a file or a symbolic link. Thread-safe.
Result<Descriptor> open_directory_of(int top, std::string_view path, std::vector<std::string>* created);

// Removes those of these directories that are empty, the last one first. Thread-safe.
void remove_empty_directories(int top, const std::vector<std::string>& created);

}  // namespace recordfs
