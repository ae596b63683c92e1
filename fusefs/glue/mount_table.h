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
  uid_t owner = 0;                         // the user that mounted
  std::optional<pid_t> pid{};              // of the daemon; nullopt if it has ended, or may not be examined
  std::optional<std::uint64_t> seconds{};  // since the daemon started
};

// Returns the mounts of recordfs in this mount namespace, in the order in which they were made. Sends no request to any
// of them. A daemon is a process of the mount's owner or of root: others could claim to serve any mount. Thread-safe.
std::vector<ListedMount> list_mounts();

// Returns the absolute path of a directory without accessing it, because its daemon may hang or be dead. Thread-safe.
std::string path_without_access(const std::string& word);

// Returns the mounts that a word means: the one at this path, or else those of this source. Of several at one path, the
// last one is on top. Thread-safe.
std::vector<ListedMount> mounts_meant_by(const std::string& word);

// Returns a file in memory for mark_daemon(), which a confined process could not make. Invalid if the kernel has no
// memory. Thread-safe.
Descriptor new_mark();

// Lets list_mounts() of other processes find the process that holds `mark`, and its children, as the daemon of a mount
// point. An absolute path. Does nothing without a mark. Thread-safe.
void mark_daemon(const Descriptor& mark, const std::string& mountpoint);

// Returns the type of the topmost mount at an absolute path; empty if there is none. Thread-safe.
std::string type_of_mount(const std::string& mountpoint);

// Waits until a process ends, at most `seconds`. Returns whether it did. Thread-safe.
bool wait_for_end(pid_t pid, int seconds);

}  // namespace recordfs
