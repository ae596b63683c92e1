// The system calls that the work of a daemon is made of, and that of its keeper, and no others.
#pragma once

#include <optional>
#include <string>

namespace recordfs {

// From now on every other system call fails with EPERM. Returns why that can't be had, or nothing. REQUIRES: one
// thread, and PR_SET_NO_NEW_PRIVS.
std::optional<std::string> keep_system_calls();

// The same for a process that waits for a byte, answers, unmounts and removes a directory.
std::optional<std::string> keep_system_calls_of_keeper();

}  // namespace recordfs
