// Which recordfs mounts there are, and which processes serve them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/descriptor.h"

namespace recordfs {

inline constexpr std::string_view kMountType = "fuse.recordfs";  // in the kernel's table

struct ListedMount {
  std::string source;                      // as on the command line of the mount, or -o fsname
  std::string mountpoint;                  // absolute path
  std::optional<pid_t> pid{};              // of the daemon; nullopt if it has ended, or may not be examined
  std::optional<std::uint64_t> seconds{};  // since the daemon started
};

// Returns the mounts of recordfs in this mount namespace, in the order in which they were made. Sends no request to any
// of them. Thread-safe.
std::vector<ListedMount> list_mounts();

// Lets list_mounts() of other processes find the one that holds the result, and its children, as the daemon of a mount
// point. An absolute path. The result is invalid if the kernel has no memory. Thread-safe.
Descriptor mark_daemon(const std::string& mountpoint);

// Returns the type of the topmost mount at an absolute path; empty if there is none. Thread-safe.
std::string type_of_mount(const std::string& mountpoint);

// Waits until a process ends, at most `seconds`. Returns whether it did. Thread-safe.
bool wait_for_end(pid_t pid, int seconds);

}  // namespace recordfs
