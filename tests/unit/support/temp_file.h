// A file in a private directory, removed with the object.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace recordfs::testing {

class TempFile {
 public:
  explicit TempFile(std::string_view content) {
    std::string pattern = (std::filesystem::temp_directory_path() / "recordfs-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    directory_ = pattern;
    std::ofstream(path(), std::ios::binary) << content;
  }
  ~TempFile() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  std::string path() const { return directory_ / "file"; }
  std::string directory() const { return directory_; }

  // Overwrites bytes at `at`, or appends, in the same inode.
  void write_at(std::size_t at, std::string_view bytes) {
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file << bytes;
  }
  void resize(std::size_t size) { std::filesystem::resize_file(path(), size); }
  // Sets the modification time, since the file system's clock may be too coarse for a test.
  void set_mtime(std::int64_t seconds) {
    const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};
    if (::utimensat(AT_FDCWD, path().c_str(), times, 0) != 0) throw std::runtime_error("utimensat failed");
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace recordfs::testing
