// Notifications to other programs about a mount: that it is ready.
#pragma once

#include <optional>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs {

// Returns whether a program listens at /dev/log.
bool has_system_log();

// Notifies the program that started the mount that it is ready: through a descriptor (--ready-fd), and through
// systemd's socket. Closes the descriptor without a newline if the mount fails. Not thread-safe.
//
// systemd's protocol is a datagram to $NOTIFY_SOCKET (sd_notify(3)). Loading libsystemd would take as long as mounting.
class ReadyNotification {
 public:
  // Takes over the descriptor, and hides it from child processes. Fails with kIo if it is not open.
  static Result<ReadyNotification> of(std::optional<int> descriptor);

  // Reports that the mount is ready. `status` is a line for users. In the background, also sends systemd the process
  // id.
  void notify(const std::string& status, bool is_in_background);

 private:
  ReadyNotification() = default;

  Descriptor descriptor_;
  Descriptor socket_;  // connected; empty: no listener
};

}  // namespace recordfs
