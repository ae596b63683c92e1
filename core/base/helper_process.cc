#include "core/base/helper_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace recordfs {
namespace {

constexpr int kFirst = STDERR_FILENO + 1;

// The daemon's connection to the kernel, for example, must break when the daemon ends.
void close_files_of_daemon(const std::set<unsigned>& kept) {
  if (const int null = ::open("/dev/null", O_RDWR); null >= 0) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, standard);
    if (null > STDERR_FILENO) ::close(null);
  }
  close_descriptors_except(kept);
}

}  // namespace

void close_descriptors_except(const std::set<unsigned>& kept) {
  unsigned first = kFirst;
  for (const unsigned one : kept) {
    if (one < first) continue;
    if (one > first) ::close_range(first, one - 1, 0);
    first = one + 1;
  }
  ::close_range(first, ~0u, 0);
}

HelperProcess::HelperProcess(const char* name, std::initializer_list<int> kept,
                             const std::function<void(int line)>& run) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) {
    ::prctl(PR_SET_NAME, name);
    std::set<unsigned> all;
    for (const int one : kept) all.insert(static_cast<unsigned>(one));
    const int line = all.contains(kFirst) ? theirs.number() : kFirst;
    if (line != theirs.number()) ::dup2(theirs.number(), line);
    all.insert(static_cast<unsigned>(line));
    close_files_of_daemon(all);
    for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE}) ::signal(number, SIG_IGN);
    run(line);
    ::_exit(0);
  }
  child_ = child;
  line_ = std::move(ours);
}

void HelperProcess::end() {
  line_ = Descriptor();
  if (child_ == 0) return;
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
}

}  // namespace recordfs
