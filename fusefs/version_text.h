// What --version prints. Only the program has this, because it names the libraries that the program links.
#pragma once

#include <string>

namespace recordfs {

// Returns the versions of recordfs, of its libraries and of the protocol of FUSE, one a line: "zstd 1.5.4". Loads
// libprotobuf.
std::string version_text();

// Returns the same as a JSON object on one line, with what this build can do: its formats, the libraries (null if the
// build lacks one), whether it is linked statically, the compiler and the processor. Loads libprotobuf.
std::string version_json();

}  // namespace recordfs
