#include "fusefs/glue/idle_end.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

extern char** environ;  // POSIX gives no header for it

namespace recordfs {

void IdleEnd::tick(std::uint64_t asked, const std::function<std::uint64_t()>& asked_now) {
  if (asked != asked_) {
    asked_ = asked;
    idle_ticks_ = 0;
    return;
  }
  if (++idle_ticks_ < kTicks) return;
  static_cast<void>(unmount_());
  asked_ = asked_now();
  idle_ticks_ = 0;
}

bool unmount_if_unused(const std::string& mountpoint) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return false;
  }
  // That it is in use is no news.
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string words[] = {"fusermount3", "-u", "-q", "--", mountpoint};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
  pid_t child = 0;
  const bool started = posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ) == 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (!started) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace recordfs
