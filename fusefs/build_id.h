// Identifies a build of this program.
#pragma once

#include <string>

namespace recordfs {

// Returns a hash of the sources of core and of the codecs that were built, in hexadecimal. Programs with the same one
// find the same in a file. Thread-safe.
std::string build_id();

}  // namespace recordfs
