// Versions of libfuse and of the kernel's protocol.
#pragma once

#include <string>

namespace recordfs {

// Returns the version of the loaded libfuse: "3.14.0".
std::string fuse_version();

// Returns the compiled protocol version: "7.37". Empty if unknown.
std::string protocol_version();

}  // namespace recordfs
