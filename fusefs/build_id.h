// Identifies a build of this program.
#pragma once

#include <string>

namespace recordfs {

// Returns the linker's build id in hexadecimal, or an empty string if there is none. It differs between builds of
// different code, so no version has to be incremented. Thread-safe.
std::string build_id();

}  // namespace recordfs
