// Takes mounts away: what a process may not do by itself, fusermount3 does for it.
#pragma once

#include <string>

namespace recordfs {

enum class Unmounting : unsigned char {
  kIfUnused,
  kAtOnce,  // from its place, though somebody may still use it
};

// Unmounts what stands at a path from the root, following no link. Whether it did. REQUIRES: no other thread waits for
// children of the process.
bool unmount(const std::string& mountpoint, Unmounting how);

// Unmounts what recordfs has left at a path from the root when its daemon ended without a chance to, as far as the
// caller may: without that nobody could use the place, or mount there again. Leaves everything else as it is.
void clear_dead_mounts(const std::string& path);

}  // namespace recordfs
