#include "fusefs/glue/unmounting.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "fusefs/glue/mount_table.h"

namespace recordfs {
namespace {

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
  for (int i = 0; i < kMostDead && type_of_mount(path) == kMountType && is_dead(path); ++i) {
    if (!unmount(path, Unmounting::kAtOnce)) return;
  }
}

}  // namespace recordfs
