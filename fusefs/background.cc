#include "fusefs/background.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "fusefs/exit_status.h"
#include "fusefs/messages.h"

namespace recordfs {
namespace {

pid_t child_of_this = 0;                  // set before the handler is
volatile std::sig_atomic_t received = 0;  // an end signal; 0: none

void pass_on(int signal) {
  received = signal;
  ::kill(child_of_this, signal);
}

// Waits until the child is ready or has ended. Signals that would end this process end the child, too.
[[noreturn]] void wait_for(pid_t child, const Descriptor& pipe) {
  child_of_this = child;
  struct sigaction passing {};
  passing.sa_handler = pass_on;
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction before {};
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(number, &passing, nullptr);
  }
  char byte = 0;
  ssize_t got = -1;
  do {
    got = ::read(pipe.number(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1) ::_exit(kExitGood);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (received != 0) {
    ::signal(received, SIG_DFL);
    ::raise(received);
  }
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  print_message(fmt::format("cannot mount: the daemon has ended: {}", ::strsignal(WTERMSIG(status))));
  ::_exit(kExitCannotMount);
}

}  // namespace

Result<Background> Background::begin(bool foreground) {
  Background made;
  if (foreground) return made;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error(errno);
  const Descriptor ours(ends[0]);
  made.parent_ = Descriptor(ends[1]);
  made.null_ = Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!made.null_) return system_error(errno);
  const pid_t child = ::fork();
  if (child < 0) return system_error(errno);
  if (child > 0) {
    made.parent_ = Descriptor();
    wait_for(child, ours);
  }
  return made;
}

void Background::ready() {
  if (!parent_) return;
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null_.number(), standard);
  null_ = Descriptor();
  ::setsid();
  const char byte = 'y';
  while (::write(parent_.number(), &byte, 1) < 0 && errno == EINTR) {
  }
  parent_ = Descriptor();
}

}  // namespace recordfs
