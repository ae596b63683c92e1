// Allows only the system calls that the daemon, or its unmount guard, needs.
#pragma once

#include <optional>
#include <string>

namespace recordfs {

// Makes every system call that the daemon does not need fail with EPERM. Returns the reason if that failed, or nullopt.
// REQUIRES: the process has one thread and has set PR_SET_NO_NEW_PRIVS.
std::optional<std::string> keep_system_calls();

// The same for a process that waits for a byte, answers, unmounts, and removes a directory.
std::optional<std::string> keep_system_calls_of_unmount_guard();

}  // namespace recordfs
