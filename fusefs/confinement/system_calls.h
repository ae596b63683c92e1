// The system calls that a daemon's work is made of, and no others.
#pragma once

#include <optional>
#include <string>

namespace recordfs {

// From now on every other system call fails with EPERM. Returns why that can't be had, or nothing. REQUIRES: one
// thread, and PR_SET_NO_NEW_PRIVS.
std::optional<std::string> keep_system_calls();

}  // namespace recordfs
