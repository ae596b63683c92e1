// slowfs FOLDER MOUNTPOINT [MILLISECONDS [jump]]: FOLDER's files, read-only, on a filesystem that a test can hold up.
//
// The file FOLDER/gate holds a decimal number. A read that goes beyond that byte of its file waits until the number is
// larger or the file is gone. As long as the file FOLDER/stopped exists, every request waits. A request that waits ends
// with EINTR when it is interrupted. Stays in the foreground.
//
// With MILLISECONDS above 0 it behaves as a network filesystem: each read takes that long, and the kernel caches pages
// and reads ahead. With "jump" only those reads take that long that begin farther than kStream from where the last one
// ended: as with HTTP, where a jump is a new request. In both cases, and with 0, each read appends a line to
// FOLDER/requests: its offset, its size, and 1 for a jump. With "jump" or 0, one thread answers all requests in the
// order in which the kernel sends them. Several threads would change that order on a busy machine.
#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr std::uint64_t kStream = 1u << 20;

std::string folder;
bool logs_reads = false;
std::chrono::milliseconds latency{0};
bool only_jumps_wait = false;
std::mutex mutex;                      // guards what follows
std::uint64_t stream_at = UINT64_MAX;  // where the last read ended; one file at a time is read in the tests

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

// Waits as long as `is_held` returns true. False: the request was interrupted.
template <class Condition>
bool wait_while(const Condition& is_held) {
  using namespace std::chrono_literals;
  while (is_held()) {
    if (fuse_interrupted() != 0) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

bool wait_while_stopped() {
  return wait_while([] { return ::access((folder + "/stopped").c_str(), F_OK) == 0; });
}

int get_attributes(const char* path, struct stat* st, fuse_file_info*) {
  if (!wait_while_stopped()) return -EINTR;
  return ::stat((folder + path).c_str(), st) == 0 ? 0 : -errno;
}

int open_file(const char* path, fuse_file_info* file) {
  if (!wait_while_stopped()) return -EINTR;
  const int descriptor = ::open((folder + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -errno;
  file->fh = static_cast<std::uint64_t>(descriptor);
  if (latency.count() == 0) file->direct_io = 1;  // the kernel reads what was asked for and no further
  return 0;
}

bool is_jump(std::uint64_t offset, std::size_t size) {
  const std::lock_guard lock(mutex);
  const bool goes_on = stream_at != UINT64_MAX && offset + kStream >= stream_at && offset <= stream_at + kStream;
  stream_at = goes_on ? std::max(stream_at, offset + size) : offset + size;
  std::ofstream(folder + "/requests", std::ios::app) << offset << ' ' << size << ' ' << (goes_on ? 0 : 1) << '\n';
  return !goes_on;
}

int read_file(const char*, char* buffer, std::size_t size, off_t offset, fuse_file_info* file) {
  const std::uint64_t end = static_cast<std::uint64_t>(offset) + size;
  if (!wait_while_stopped() || !wait_while([end] { return end > gate(); })) return -EINTR;
  const bool jumps = logs_reads && is_jump(static_cast<std::uint64_t>(offset), size);
  if (jumps || !only_jumps_wait) std::this_thread::sleep_for(latency);
  const ssize_t got = ::pread(static_cast<int>(file->fh), buffer, size, offset);
  return got < 0 ? -errno : static_cast<int>(got);
}

int list_directory(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  if (!wait_while_stopped()) return -EINTR;
  DIR* directory = ::opendir((folder + path).c_str());
  if (directory == nullptr) return -errno;
  while (const dirent* entry = ::readdir(directory)) fill(buffer, entry->d_name, nullptr, 0, fuse_fill_dir_flags{});
  ::closedir(directory);
  return 0;
}

int get_usage(const char*, struct statvfs* st) {
  if (!wait_while_stopped()) return -EINTR;
  return ::statvfs(folder.c_str(), st) == 0 ? 0 : -errno;
}

int flush_file(const char*, fuse_file_info*) { return wait_while_stopped() ? 0 : -EINTR; }

int close_file(const char*, fuse_file_info* file) {
  ::close(static_cast<int>(file->fh));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) return 1;
  logs_reads = argc > 3;
  if (argc > 3) latency = std::chrono::milliseconds(std::stoi(argv[3]));
  only_jumps_wait = argc > 4 && argv[4] == std::string_view("jump");
  folder = std::filesystem::absolute(argv[1]);
  fuse_operations operations{};
  operations.init = ask_for_interrupts;
  operations.getattr = get_attributes;
  operations.open = open_file;
  operations.read = read_file;
  operations.readdir = list_directory;
  operations.statfs = get_usage;
  operations.flush = flush_file;
  operations.release = close_file;
  char foreground[] = "-f";
  char uncached[] = "-oro,attr_timeout=0";
  char cached[] = "-oro,attr_timeout=1";
  char threads[] = "-omax_threads=64";  // they wait at the same time; hanging.py counts on fewer than 80
  char one_thread[] = "-s";
  const bool keeps_order = only_jumps_wait || (logs_reads && latency.count() == 0);
  char* arguments[] = {
      argv[0], argv[2], foreground, latency.count() > 0 ? cached : uncached, keeps_order ? one_thread : threads,
      nullptr};
  return fuse_main(5, arguments, &operations, nullptr);
}
