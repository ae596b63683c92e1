// slowfs FOLDER MOUNTPOINT: FOLDER's files, read-only, whose reads can be held up by a test.
//
// The file FOLDER/gate holds a decimal number. A read that goes beyond that byte of its file waits until the number is
// larger or the file is gone. Stays in the foreground.
#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace {

std::string folder;

std::uint64_t gate() {
  std::uint64_t open_until = 0;
  if (std::ifstream file(folder + "/gate"); file >> open_until) return open_until;
  return std::numeric_limits<std::uint64_t>::max();
}

// Newer libraries ignore interrupts unless a file system asks for them. Older ones then send SIGUSR1 without a handler.
void* ask_for_interrupts(fuse_conn_info*, fuse_config* config) {
  config->intr = 1;
  std::signal(SIGUSR1, [](int) {});
  return nullptr;
}

int get_attributes(const char* path, struct stat* st, fuse_file_info*) {
  return ::stat((folder + path).c_str(), st) == 0 ? 0 : -errno;
}

int open_file(const char* path, fuse_file_info* file) {
  const int descriptor = ::open((folder + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -errno;
  file->fh = static_cast<std::uint64_t>(descriptor);
  file->direct_io = 1;  // the kernel reads what was asked for and no further
  return 0;
}

int read_file(const char*, char* buffer, std::size_t size, off_t offset, fuse_file_info* file) {
  using namespace std::chrono_literals;
  while (static_cast<std::uint64_t>(offset) + size > gate()) {
    if (fuse_interrupted() != 0) return -EINTR;
    std::this_thread::sleep_for(5ms);
  }
  const ssize_t got = ::pread(static_cast<int>(file->fh), buffer, size, offset);
  return got < 0 ? -errno : static_cast<int>(got);
}

int close_file(const char*, fuse_file_info* file) {
  ::close(static_cast<int>(file->fh));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  folder = std::filesystem::absolute(argv[1]);
  fuse_operations operations{};
  operations.init = ask_for_interrupts;
  operations.getattr = get_attributes;
  operations.open = open_file;
  operations.read = read_file;
  operations.release = close_file;
  char foreground[] = "-f";
  char options[] = "-oro,attr_timeout=0";
  char* arguments[] = {argv[0], argv[2], foreground, options, nullptr};
  return fuse_main(4, arguments, &operations, nullptr);
}
