// The mount options (-o): recordfs' own, libfuse's, and those that mount(8) and fstab(5) pass on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fusefs/option_text.h"
#include "fusefs/options.h"

namespace recordfs {

// Returns the documented options, in the order of --help.
std::vector<OptionText> mount_options();

// Applies a comma-separated list; a backslash escapes the next character. Returns the error, or nothing. Unknown
// options are errors unless options.sloppy. Thread-safe.
std::optional<std::string> apply_mount_options(const std::string& list, Options& options);

}  // namespace recordfs
