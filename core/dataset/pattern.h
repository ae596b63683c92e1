// Patterns of glob(7), in any storage.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Returns whether a word has a wildcard.
inline bool is_pattern(std::string_view word) { return word.find_first_of("*?[") != std::string_view::npos; }

// Returns the files and directories that a pattern matches, in any order. Directories end with a slash. What cannot be
// examined, such as a directory that may not be listed, is returned without one, so that opening it tells why. Fails
// with kLimit if there are more than `most`, and with kIo; the detail then begins with a path. Thread-safe.
Result<std::vector<std::string>> expand_pattern(const std::string& pattern, std::size_t most);

}  // namespace recordfs
