#include "fusefs/glue/unmounting.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string_view>

namespace recordfs {
namespace {

constexpr std::string_view kType = "fuse.recordfs";
constexpr int kMostDead = 64;  // mounts at one path

bool run_fusermount(const std::string& mountpoint, Unmounting how) {
  posix_spawnattr_t attributes;
  if (posix_spawnattr_init(&attributes) != 0) return false;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string words[] = {"fusermount3", "-u", how == Unmounting::kAtOnce ? "-qz" : "-q", "--", mountpoint};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
  pid_t child = 0;
  const bool started = posix_spawnp(&child, argv[0], nullptr, &attributes, argv, environ) == 0;
  posix_spawnattr_destroy(&attributes);
  if (!started) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Decodes the escapes of /proc: "\\040" for a space.
std::string unescaped(std::string_view field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size()) {
      text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0'));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

// Returns the type of the topmost mount; empty if there is none.
std::string type_of_mount(const std::string& mountpoint) {
  std::ifstream table("/proc/self/mounts");
  std::string type;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string source;
    std::string point;
    std::string kind;
    if (fields >> source >> point >> kind && unescaped(point) == mountpoint) type = kind;
  }
  return type;
}

// Returns whether the mount's daemon has ended. (The kernel may answer stat() by itself.)
bool is_dead(const std::string& path) {
  struct statfs told {};
  return ::statfs(path.c_str(), &told) != 0 && errno == ENOTCONN;
}

}  // namespace

bool unmount(const std::string& mountpoint, Unmounting how) {
  const int flags = UMOUNT_NOFOLLOW | (how == Unmounting::kAtOnce ? MNT_DETACH : 0);
  // Without the privilege fusermount3 unmounts. It also updates /etc/mtab if that is a file.
  if (::umount2(mountpoint.c_str(), flags) == 0) return true;
  return errno == EPERM && run_fusermount(mountpoint, how);
}

void clear_dead_mounts(const std::string& path) {
  for (int i = 0; i < kMostDead && type_of_mount(path) == kType && is_dead(path); ++i) {
    if (!unmount(path, Unmounting::kAtOnce)) return;
  }
}

}  // namespace recordfs
