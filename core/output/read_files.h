// The files that a command reads, which it must not write.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace recordfs {

// Why such a file is not written.
inline constexpr std::string_view kIsRead = "is a file that is read, which is never written";

// Local files, whatever their paths and links. Const functions are thread-safe.
class ReadFiles {
 public:
  // Adds the file to which a path leads, if there is one.
  void add(const std::string& path);

  bool contains(const struct stat& file) const { return files_.contains({file.st_dev, file.st_ino}); }
  // Returns whether a path that is relative to `directory` leads to one of the files. AT_FDCWD: the current directory.
  bool contains(int directory, const std::string& path) const;

 private:
  std::set<std::pair<dev_t, ino_t>> files_;
};

}  // namespace recordfs
