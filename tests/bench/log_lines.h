// Records that look like the lines of a log: the same line for the same number, everywhere.
#pragma once

#include <cstdint>
#include <string>

namespace recordfs::bench {

// Line `number`: 200 to 1,000 bytes of ASCII text without a newline. Any thread.
std::string log_line(std::uint64_t number);

}  // namespace recordfs::bench
