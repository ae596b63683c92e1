// Loaded into a program: reads that touch the bytes of a file which RECORDFS_BAD_SECTOR="INODE BEGIN END" names fail as
// those of a disk's bad sector do, after the bytes before it.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace {

struct Sector {
  unsigned long long inode = 0;
  long long begin = 0, end = 0;
};

Sector sector_of_environment() {
  Sector sector;
  const char* const text = std::getenv("RECORDFS_BAD_SECTOR");
  if (text == nullptr) return sector;
  char* rest = nullptr;
  sector.inode = std::strtoull(text, &rest, 10);
  sector.begin = std::strtoll(rest, &rest, 10);
  sector.end = std::strtoll(rest, nullptr, 10);
  return sector;
}

}  // namespace

// Replaces the C library's function.
extern "C" __attribute__((visibility("default"))) ssize_t pread64(int file, void* out, size_t size, off64_t at) {
  static const Sector sector = sector_of_environment();
  struct stat st {};
  if (at < sector.end && at + static_cast<off64_t>(size) > sector.begin && fstat(file, &st) == 0 &&
      st.st_ino == sector.inode) {
    if (at >= sector.begin) {
      errno = EIO;
      return -1;
    }
    size = static_cast<size_t>(sector.begin - at);
  }
  return syscall(SYS_pread64, file, out, size, at);
}

extern "C" __attribute__((visibility("default"))) ssize_t pread(int file, void* out, size_t size, off_t at) {
  return pread64(file, out, size, at);
}
