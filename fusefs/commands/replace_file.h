// Writes a file as a whole.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace recordfs {

// Gives a file this content, or leaves it as it is: the content is on the disk before it takes the file's name. Links
// are followed. A file that exists keeps its owner and mode; a new one gets `mode` without the umask. Pipes and devices
// are written to, and so is a file whose directory or owner does not permit more. Fails with kIo and the errno. Not
// thread-safe, because it changes the umask for a moment.
Result<void> replace_file(const std::string& path, std::string_view content, mode_t mode);

}  // namespace recordfs
