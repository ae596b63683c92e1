// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace recordfs {

// Returns a number with commas: 1,234,567.
std::string grouped(std::uint64_t number);

// Returns a size in units: "17 bytes", "1.5 KiB".
std::string short_size(std::uint64_t bytes);

}  // namespace recordfs
