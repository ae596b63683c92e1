// The files that a process may reach, kept by the kernel (landlock(7)).
#pragma once

#include <optional>
#include <string>

#include "fusefs/confinement/confinement.h"

namespace recordfs {

// From now on nothing is opened but what is `within`, nothing is connected to, and no process
// outside is sent a signal, as far as the kernel sees to it: one without Landlock does not. Returns what has failed, or
// nothing. REQUIRES: one thread, and PR_SET_NO_NEW_PRIVS.
std::optional<std::string> keep_files(const Reach& within);

}  // namespace recordfs
