// What tells one build of this program from every other.
#pragma once

#include <string>

namespace recordfs {

// The linker's hash of the running program, in hexadecimal; empty where it was linked without one. No linking of other
// code has the same, so nobody has to remember to count it up. Any thread.
std::string build_id();

}  // namespace recordfs
