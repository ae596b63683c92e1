#include "fusefs/tree/mirror/recordfs_mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>

namespace recordfs {
namespace {

std::string all_of(int descriptor) {
  std::string text;
  std::array<char, 4096> piece{};
  ::lseek(descriptor, 0, SEEK_SET);
  for (;;) {
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

RecordfsMounts::RecordfsMounts() : table_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)) {}

// The kernel reports all changes since the last call at once, and only once.
bool RecordfsMounts::has_changed() const {
  pollfd asked{table_.number(), POLLPRI, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLERR | POLLPRI)) != 0;
}

// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw"
void RecordfsMounts::read() const {
  was_read_ = true;
  devices_.clear();
  std::istringstream lines(all_of(table_.number()));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos || line.compare(dash + 3, 13, "fuse.recordfs") != 0) continue;
    std::istringstream fields(line);
    std::string id;
    unsigned major = 0;
    unsigned minor = 0;
    char colon = 0;
    if (fields >> id >> id >> major >> colon >> minor && colon == ':') devices_.insert(makedev(major, minor));
  }
}

bool RecordfsMounts::contains(std::uint64_t device) const {
  const std::lock_guard lock(mutex_);
  if (!table_) return true;
  if (has_changed() || !was_read_) read();
  return devices_.contains(device);
}

}  // namespace recordfs
