// Tells whoever started the mount that it stands: through a descriptor (--ready-fd), and through systemd's socket.
//
// systemd's protocol is a datagram to $NOTIFY_SOCKET (sd_notify(3)). It is written here and not taken from libsystemd:
// to load that library takes as long as to mount.
#pragma once

#include <optional>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs {

// One thread at a time. Goes without having told anything where the mount fails: the descriptor is closed then.
class ReadyNotification {
 public:
  // Takes the descriptor over, and keeps it from programs that are started. Fails with kIo where there is no such
  // descriptor.
  static Result<ReadyNotification> of(std::optional<int> descriptor);

  ~ReadyNotification();
  ReadyNotification(ReadyNotification&& other) noexcept;
  ReadyNotification& operator=(ReadyNotification&&) = delete;

  // The mount stands. `status` is a line for people; a daemon in the background also says that it is the main process.
  void notify(const std::string& status, bool is_in_background);

 private:
  ReadyNotification() = default;

  int descriptor_ = -1;
  Descriptor socket_;  // connected; none: nobody listens
};

}  // namespace recordfs
