// Which libraries decompress, for bug reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace recordfs {

struct CodecVersion {
  std::string_view name;  // of the library
  std::string version;    // empty: this build has not got it
};

// All libraries that a build may have, in a fixed order. Any thread.
std::vector<CodecVersion> codec_versions();

}  // namespace recordfs
