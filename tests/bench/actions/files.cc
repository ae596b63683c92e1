#include "tests/bench/actions/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>

namespace recordfs::bench {
namespace {

struct DirectoryCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

Descriptor::Descriptor(int directory, const char* path, int flags)
    : descriptor_(::openat(directory, path, O_RDONLY | O_CLOEXEC | flags)) {}
Descriptor::Descriptor(const char* path, int flags) : Descriptor(AT_FDCWD, path, flags) {}
Descriptor::~Descriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::int64_t read_file(int directory, const char* name, std::vector<char>& buffer) {
  const Descriptor file(directory, name, 0);
  if (file.get() < 0) return -1;
  std::int64_t total = 0;
  while (true) {
    const ssize_t read = ::read(file.get(), buffer.data(), buffer.size());
    if (read <= 0) return read < 0 ? -1 : total;
    total += read;
  }
}

std::int64_t read_file(const char* path, std::vector<char>& buffer) { return read_file(AT_FDCWD, path, buffer); }

std::int64_t stat_file(int directory, const char* name) {
  struct stat status {};
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW);
}

std::int64_t read_at(int descriptor, std::uint64_t offset, std::vector<char>& buffer) {
  const ssize_t read = ::pread(descriptor, buffer.data(), buffer.size(), static_cast<off_t>(offset));
  return read == static_cast<ssize_t>(buffer.size()) ? read : -1;
}

std::int64_t list_directory(const char* path, bool status) {
  const std::unique_ptr<DIR, DirectoryCloser> directory(::opendir(path));
  if (!directory) return -1;
  std::int64_t names = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (status && stat_file(::dirfd(directory.get()), entry->d_name) < 0) return -1;
    ++names;
  }
  return names;
}

}  // namespace recordfs::bench
