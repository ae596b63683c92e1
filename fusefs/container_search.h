// Searches a directory briefly for record containers.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace recordfs {

// Limits of a search: a large or slow directory must not delay the mount.
struct SearchBounds {
  std::size_t entries = 256;            // files and directories to check
  std::chrono::milliseconds time{200};  // checks no further entry after it
};

// Returns false only if the search saw everything below `directory` and no file is a container. Returns true if it
// found one, reached a limit, or could not read something. Does not follow symbolic links or enter other filesystems.
bool may_have_containers(const std::string& directory, const SearchBounds& bounds = {});

}  // namespace recordfs
