// A short search for record containers below a directory.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace recordfs {

// What a search may cost: a large or slow directory must not delay the mount.
struct SearchBounds {
  std::size_t entries = 256;            // files and directories that are looked at
  std::chrono::milliseconds time{200};  // after which no further entry is looked at
};

// Returns false only if the search has seen all below `directory` within the bounds, and no file is a container.
// Returns true if it found one, if a bound ended it, or if something could not be read. Does not follow symbolic links,
// and does not enter other filesystems.
bool may_have_containers(const std::string& directory, const SearchBounds& bounds = {});

}  // namespace recordfs
