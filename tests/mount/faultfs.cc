// faultfs FOLDER MOUNTPOINT: FOLDER's files, read-only, with the faults of a disk or a network.
//
// Setting the extended attribute user.fault of MOUNTPOINT begins to count reads, from 0 on, and says what they meet:
//
//   none                no fault
//   eio N               read N fails with EIO
//   eio-from N          read N and all later ones
//   eio-range BEGIN END reads that touch these bytes of their file
//   eintr-from N        read N and all later ones fail with EINTR
//   all-short N         each read gives N bytes or fewer
//   slow N              each read takes N milliseconds more
//
// The attribute user.reads tells the count. Reads are those of the program above: the kernel keeps no bytes. Stays in
// the foreground.
#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

namespace {

struct Fault {
  std::string word = "none";
  std::uint64_t first = 0, second = 0;
};

std::string folder;
std::mutex mutex;
Fault fault;              // guarded by mutex
std::uint64_t count = 0;  // the same
// The same: what is open, by the path under which it was opened.
std::map<std::string, int> opened;

// What a read meets: a negative errno, or how many bytes it may have.
std::int64_t meet(std::uint64_t at, std::uint64_t size) {
  const std::lock_guard lock(mutex);
  const std::uint64_t number = count++;
  const std::string& word = fault.word;
  if (word == "eio" && number == fault.first) return -EIO;
  if (word == "eio-from" && number >= fault.first) return -EIO;
  if (word == "eio-range" && at < fault.second && at + size > fault.first) return -EIO;
  if (word == "eintr-from" && number >= fault.first) return -EINTR;
  if (word == "all-short") size = std::min(size, fault.first);
  return static_cast<std::int64_t>(size);
}

std::chrono::milliseconds delay() {
  const std::lock_guard lock(mutex);
  return std::chrono::milliseconds(fault.word == "slow" ? fault.first : 0);
}

int get_attributes(const char* path, struct stat* st, fuse_file_info* file) {
  if (file != nullptr) return ::fstat(static_cast<int>(file->fh), st) == 0 ? 0 : -errno;
  const std::lock_guard lock(mutex);
  const auto found = opened.find(path);
  const int done = found != opened.end() ? ::fstat(found->second, st) : ::stat((folder + path).c_str(), st);
  return done == 0 ? 0 : -errno;
}

int open_file(const char* path, fuse_file_info* file) {
  const int descriptor = ::open((folder + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -errno;
  file->fh = static_cast<std::uint64_t>(descriptor);
  file->direct_io = 1;
  const std::lock_guard lock(mutex);
  opened[path] = descriptor;
  return 0;
}

int read_file(const char*, char* buffer, std::size_t size, off_t offset, fuse_file_info* file) {
  std::this_thread::sleep_for(delay());
  const std::int64_t allowed = meet(static_cast<std::uint64_t>(offset), size);
  if (allowed < 0) return static_cast<int>(allowed);
  const ssize_t got = ::pread(static_cast<int>(file->fh), buffer, static_cast<std::size_t>(allowed), offset);
  return got < 0 ? -errno : static_cast<int>(got);
}

int close_file(const char*, fuse_file_info* file) {
  const std::lock_guard lock(mutex);
  std::erase_if(opened, [&](const auto& entry) { return entry.second == static_cast<int>(file->fh); });
  ::close(static_cast<int>(file->fh));
  return 0;
}

int set_attribute(const char*, const char* name, const char* value, std::size_t size, int) {
  if (std::strcmp(name, "user.fault") != 0) return -ENOTSUP;
  Fault wanted;
  std::istringstream(std::string(value, size)) >> wanted.word >> wanted.first >> wanted.second;
  const std::lock_guard lock(mutex);
  fault = wanted;
  count = 0;
  return 0;
}

int get_attribute(const char*, const char* name, char* value, std::size_t size) {
  if (std::strcmp(name, "user.reads") != 0) return -ENODATA;
  const std::lock_guard lock(mutex);
  const std::string text = std::to_string(count);
  if (size == 0) return static_cast<int>(text.size());
  if (size < text.size()) return -ERANGE;
  std::ranges::copy(text, value);
  return static_cast<int>(text.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  folder = std::filesystem::absolute(argv[1]);
  fuse_operations operations{};
  operations.getattr = get_attributes;
  operations.open = open_file;
  operations.read = read_file;
  operations.release = close_file;
  operations.setxattr = set_attribute;
  operations.getxattr = get_attribute;
  char foreground[] = "-f";
  char options[] = "-oattr_timeout=0";
  char* arguments[] = {argv[0], argv[2], foreground, options, nullptr};
  return fuse_main(4, arguments, &operations, nullptr);
}
