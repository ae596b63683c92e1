// Restricts the files that a process can access, through the kernel's Landlock (landlock(7)).
#pragma once

#include <optional>
#include <string>

#include "fusefs/confinement/confinement.h"

namespace recordfs {

// Allows opening only what is `within`, and blocks TCP connections and signals to other processes as far as the
// kernel's Landlock version supports it. Does nothing if the kernel has no Landlock. Returns what failed, or nullopt.
// REQUIRES: the process has one thread and has set PR_SET_NO_NEW_PRIVS.
std::optional<std::string> keep_files(const AllowedPaths& within);

}  // namespace recordfs
