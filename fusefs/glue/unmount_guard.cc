#include "fusefs/glue/unmount_guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "fusefs/glue/unmounting.h"

namespace recordfs {
namespace {

// The daemon's requests, one byte each. The socket closes when the daemon ends.
constexpr char kUnmountIfUnused = 'u';
constexpr char kGone = 'g';  // no answer
constexpr char kEnd = 'e';   // no answer
constexpr char kOpenLog = 'l';
constexpr char kDone = 'y';  // to kOpenLog: with a descriptor
constexpr char kNotDone = 'n';

// Room for one descriptor that accompanies a message.
union DescriptorMessage {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// Sends a byte, and a descriptor if that is valid. Returns whether it did.
bool send_with(int line, char answer, const Descriptor& attached) {
  iovec byte{.iov_base = &answer, .iov_len = 1};
  msghdr message{};
  message.msg_iov = &byte;
  message.msg_iovlen = 1;
  DescriptorMessage room{};
  if (attached) {
    const int number = attached.number();
    message.msg_control = &room;
    message.msg_controllen = sizeof(room);
    room.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    std::memcpy(CMSG_DATA(&room.header), &number, sizeof(number));
  }
  return ::sendmsg(line, &message, MSG_NOSIGNAL) == 1;
}

// Receives what send_with() sent. Returns the descriptor; an invalid one if there is none.
Descriptor receive_descriptor(int line) {
  char answer = kNotDone;
  iovec byte{.iov_base = &answer, .iov_len = 1};
  DescriptorMessage room{};
  msghdr message{};
  message.msg_iov = &byte;
  message.msg_iovlen = 1;
  message.msg_control = &room;
  message.msg_controllen = sizeof(room);
  ssize_t got = -1;
  do {
    got = ::recvmsg(line, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* attached = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (attached == nullptr || attached->cmsg_type != SCM_RIGHTS || attached->cmsg_len != CMSG_LEN(sizeof(int)))
    return {};
  int number = -1;
  std::memcpy(&number, CMSG_DATA(attached), sizeof(number));
  return Descriptor(number);
}

// Closes the daemon's files: its connection to the kernel must break when it ends.
void let_go(int line) {
  if (const int null = ::open("/dev/null", O_RDWR); null >= 0) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, standard);
    if (null > STDERR_FILENO) ::close(null);
  }
  constexpr int kLine = STDERR_FILENO + 1;
  ::dup2(line, kLine);
  ::close_range(kLine + 1, ~0u, 0);
  // These signals end the daemon, which then ends this process.
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGPIPE}) ::signal(number, SIG_IGN);
  // A current directory keeps its filesystem busy.
  if (::chdir("/") != 0) ::_exit(1);
}

}  // namespace

std::uint64_t mount_at(const std::string& path) {
  struct statx st {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (::statx(AT_FDCWD, path.c_str(), flags, STATX_MNT_ID, &st) != 0) return 0;
  return (st.stx_mask & STATX_MNT_ID) != 0 ? st.stx_mnt_id : 0;
}

UnmountGuard::UnmountGuard(const Config& config) {
  int ends[2];
  if (config.mountpoint.empty() || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  Descriptor ours(ends[0]);
  const Descriptor theirs(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) run(config, theirs.number());
  if (child < 0) return;
  child_ = child;
  line_ = std::move(ours);
}

UnmountGuard::~UnmountGuard() {
  line_ = Descriptor();
  if (child_ == 0) return;
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void UnmountGuard::is_gone() {
  if (line_) static_cast<void>(::send(line_.number(), &kGone, 1, MSG_NOSIGNAL));
}

void UnmountGuard::unmount() const {
  if (line_) static_cast<void>(::send(line_.number(), &kEnd, 1, MSG_NOSIGNAL));
}

bool UnmountGuard::unmount_if_unused() {
  char answer = kNotDone;
  if (!line_ || ::send(line_.number(), &kUnmountIfUnused, 1, MSG_NOSIGNAL) != 1) return false;
  ssize_t got = -1;
  do {
    got = ::recv(line_.number(), &answer, 1, 0);
  } while (got < 0 && errno == EINTR);
  return got == 1 && answer == kDone;
}

Descriptor UnmountGuard::open_log() {
  if (!line_ || ::send(line_.number(), &kOpenLog, 1, MSG_NOSIGNAL) != 1) return {};
  return receive_descriptor(line_.number());
}

void UnmountGuard::run(const Config& config, int line) {
  std::uint64_t ours = config.mount;
  ::prctl(PR_SET_NAME, "recordfs-guard");
  let_go(line);
  if (config.confine) config.confine();
  constexpr int kLine = STDERR_FILENO + 1;
  const auto stands = [&] { return ours != 0 && mount_at(config.mountpoint) == ours; };
  char asked = 0;
  while (::read(kLine, &asked, 1) == 1) {
    if (asked == kEnd) break;
    if (asked == kGone) {
      ours = 0;
      continue;
    }
    if (asked == kOpenLog) {
      const Descriptor opened = config.open_log ? config.open_log() : Descriptor();
      if (!send_with(kLine, opened ? kDone : kNotDone, opened)) break;
      continue;
    }
    const char answer =
        asked == kUnmountIfUnused && stands() && recordfs::unmount(config.mountpoint, Unmounting::kIfUnused) ? kDone
                                                                                                             : kNotDone;
    if (::send(kLine, &answer, 1, MSG_NOSIGNAL) != 1) break;
  }
  if (stands()) recordfs::unmount(config.mountpoint, Unmounting::kAtOnce);
  if (config.remove_directory) ::rmdir(config.mountpoint.c_str());
  ::_exit(0);
}

}  // namespace recordfs
