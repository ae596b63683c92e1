// Reads everything that a mount shows, path by path, each file from begin to end.
#pragma once

#include <string>

#include "tests/soak/known.h"

namespace recordfs::soak {

// Reads the mount at `root`. Visits at most `names` entries of a directory, chosen by `seed`, and some names that can
// be looked up although they are not listed. Throws std::runtime_error if the root cannot be read.
Knowledge learn(const std::string& root, std::size_t names, unsigned seed);

}  // namespace recordfs::soak
