// A directory that is removed with its content when the object is destroyed.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <stdlib.h>

namespace recordfs::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "recordfs-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::string path() const { return path_; }

  // Creates or overwrites a file, in the same inode, and creates its parent directories.
  void write(std::string_view name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  // Replaces the file with a new inode.
  void replace(std::string_view name, std::string_view content) const {
    write("replacing", content);
    std::filesystem::rename(path_ / "replacing", path_ / name);
  }
  void make(std::string_view name) const { std::filesystem::create_directories(path_ / name); }
  void link(std::string_view name, std::string_view target) const {
    std::filesystem::create_symlink(target, path_ / name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace recordfs::testing
