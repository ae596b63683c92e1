// The files that recover writes, by their sources.
#pragma once

#include <string>
#include <vector>

#include "core/dataset/missing_shards.h"

namespace recordfs {

// A file to recover.
struct RecoveredFile {
  std::string path;
  std::string name;  // its path in the directory of the output, which nothing has checked
};

// Gives each file of a set its path below the directory that was named, or else below the deepest directory that all
// files of the set are in.
std::vector<RecoveredFile> with_names(const std::vector<NamedFile>& set);

}  // namespace recordfs
