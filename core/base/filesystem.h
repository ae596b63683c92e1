// Which filesystems can make a thread wait for another machine or program.
#pragma once

#include <cstdint>

namespace recordfs {

// Returns the device of an open file if its filesystem may hang: a network filesystem, FUSE, or any that is not known
// to be local. Returns 0 for a local one, whose reads end with the disk's answer.
std::uint64_t filesystem_that_may_hang(int descriptor, std::uint64_t device);

}  // namespace recordfs
