// What stands behind -o: our own mount options, libfuse's, and what mount(8) and fstab(5) pass along.
#pragma once

#include <optional>
#include <string>

#include "fusefs/options.h"

namespace recordfs {

// Sets what a list of options says, separated by commas; a backslash takes the next character as it is. Returns what is
// wrong with it, or nothing. An option that nobody knows is wrong unless options.sloppy. Any thread.
std::optional<std::string> apply_mount_options(const std::string& list, Options& options);

}  // namespace recordfs
