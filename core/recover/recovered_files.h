// The files that recover writes, by their sources.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
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

// Returns the status of a file, following links; nullopt if there is none.
std::optional<struct stat> status_at(const std::string& path);

// What recover writes, and what it reads besides the files.
struct RecoveryOutputs {
  std::string directory{};                                   // of the files
  bool links = false;                                        // files that lost nothing are hard-linked
  std::string manifest{};                                    // empty: none
  std::string report{};                                      // the path of the list of losses; empty: none
  std::function<bool(const std::string& path)> is_report{};  // whether this path is that list's

  // Returns the path of a file by its name.
  std::string path_of(const std::string& name) const;
  // Returns whether an output is the same file as its source, as a link of an earlier run is.
  bool is_linked(const std::string& source, const std::string& target) const;
  // Returns a message for each output that would be a file that is read, or another output, or in a directory of the
  // same name as one. Call it before anything is written.
  std::vector<std::string> conflicts(const std::vector<RecoveredFile>& files) const;
};

}  // namespace recordfs
