// Versions of the decompression libraries, for bug reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace recordfs {

struct CodecVersion {
  std::string_view name;  // of the library
  std::string version;    // empty if this build lacks the library
};

// Returns all libraries that recordfs supports, in a fixed order. Thread-safe.
std::vector<CodecVersion> codec_versions();

}  // namespace recordfs
