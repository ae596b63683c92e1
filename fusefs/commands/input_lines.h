// Text that a command reads from a file, or from standard input.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace recordfs {

// Returns whether a stream, which may be std::cin, was read to its end. Fails with kIo: a standard input that is closed
// or a directory only looks empty.
Result<void> input_outcome(const std::istream& input);

// Returns the lines of a file that each end with `end`; "-" is standard input. Fails with kIo.
Result<std::vector<std::string>> read_lines(const std::string& path, char end);

}  // namespace recordfs
