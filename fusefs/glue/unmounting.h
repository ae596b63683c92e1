// Unmounts, through fusermount3 if the process lacks the privilege.
#pragma once

#include <string>

namespace recordfs {

enum class Unmounting : unsigned char {
  kIfUnused,
  kAtOnce,  // detaches a mount even if it is in use
};

// Unmounts what is mounted at an absolute path, following no symbolic link. Returns whether it did. May block.
// REQUIRES: no other thread waits for child processes.
bool unmount(const std::string& mountpoint, Unmounting how);

// Unmounts recordfs mounts whose daemon ended without unmounting, as far as the caller may. They would make the path
// unusable. Leaves other mounts alone.
void clear_dead_mounts(const std::string& path);

}  // namespace recordfs
