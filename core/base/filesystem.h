// Distinguishes local filesystems from those on which a read can block indefinitely.
#pragma once

#include <cstdint>

namespace recordfs {

// Returns `device` if the filesystem of the open file may hang: a network filesystem, FUSE, or one not known to be
// local. Returns 0 for a local one. `device` is the file's st_dev.
std::uint64_t filesystem_that_may_hang(int descriptor, std::uint64_t device);

}  // namespace recordfs
