// Parses -o: recordfs' options, libfuse's, and those that mount(8) and fstab(5) pass on.
#pragma once

#include <optional>
#include <string>

#include "fusefs/options.h"

namespace recordfs {

// Applies a comma-separated list; a backslash escapes the next character. Returns the error, or nothing. Unknown
// options are errors unless options.sloppy. Thread-safe.
std::optional<std::string> apply_mount_options(const std::string& list, Options& options);

}  // namespace recordfs
