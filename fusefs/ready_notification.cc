#include "fusefs/ready_notification.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

// Accepts a path, or "@" and the name of an abstract socket, as in sd_notify(3).
Descriptor connected_to(const std::string& socket_name) {
  sockaddr_un address{};
  const bool is_name = socket_name.starts_with('/') || socket_name.starts_with('@');
  if (!is_name || socket_name.size() >= sizeof(address.sun_path)) return {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_name.data(), socket_name.size());
  if (socket_name.front() == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name.size());
  Descriptor made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!made || ::connect(made.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return {};
  return made;
}

void send(const Descriptor& socket, const std::string& message) {
  while (::send(socket.number(), message.data(), message.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

}  // namespace

bool has_system_log() {
  // EPROTOTYPE: the listener uses another socket type, which syslog(3) supports.
  return connected_to("/dev/log") || errno == EPROTOTYPE;
}

Result<ReadyNotification> ReadyNotification::of(std::optional<int> descriptor) {
  ReadyNotification ready;
  if (const char* name = std::getenv("NOTIFY_SOCKET")) ready.socket_ = connected_to(name);
  if (!descriptor) return ready;
  // Avoids the standard descriptors, which the daemon replaces.
  ready.descriptor_ = Descriptor(::fcntl(*descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!ready.descriptor_) return system_error(errno);
  if (*descriptor > STDERR_FILENO) ::close(*descriptor);
  return ready;
}

void ReadyNotification::notify(const std::string& status, bool is_in_background) {
  while (descriptor_ && ::write(descriptor_.number(), "\n", 1) < 0 && errno == EINTR) {
  }
  descriptor_ = Descriptor();
  if (!socket_) return;
  std::string message = fmt::format("READY=1\nSTATUS={}\n", printable(status));
  if (is_in_background) message += fmt::format("MAINPID={}\n", ::getpid());
  send(socket_, message);
  socket_ = Descriptor();
}

}  // namespace recordfs
