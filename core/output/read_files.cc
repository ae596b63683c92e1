#include "core/output/read_files.h"

namespace recordfs {

void ReadFiles::add(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0) files_.emplace(file.st_dev, file.st_ino);
}

bool ReadFiles::contains(int directory, const std::string& path) const {
  struct stat file {};
  return ::fstatat(directory, path.c_str(), &file, 0) == 0 && contains(file);
}

}  // namespace recordfs
