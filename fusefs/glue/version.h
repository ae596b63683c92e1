// With what the program speaks to the kernel.
#pragma once

#include <string>

namespace recordfs {

// The version of libfuse that runs: "3.14.0".
std::string fuse_version();

// The version of the kernel's protocol that the program was compiled with: "7.37"; empty where that is not known.
std::string protocol_version();

}  // namespace recordfs
