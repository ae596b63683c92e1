// Absolute paths without symbolic links in front of the file name.
#pragma once

#include <map>
#include <string>

namespace recordfs {

// Resolves each directory once. Not thread-safe.
class RealPaths {
 public:
  // Returns the absolute path of a file whose directory is resolved. The last part stays as it is. A directory that
  // cannot be resolved only becomes absolute. A URL stays as it is.
  std::string of(const std::string& path);

 private:
  std::map<std::string, std::string> directories_;  // as given, and resolved with a slash at the end
};

}  // namespace recordfs
