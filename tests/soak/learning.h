// What a mount shows, path by path: read in order, each file from its begin to its end.
#pragma once

#include <string>

#include "tests/soak/known.h"

namespace recordfs::soak {

// Walks through the mount at `root`. Of a directory's entries it looks into `names` at the most, chosen by `seed`, and
// at some names that are found though they are not listed. Throws std::runtime_error where the root can't be read.
Knowledge learn(const std::string& root, std::size_t names, unsigned seed);

}  // namespace recordfs::soak
