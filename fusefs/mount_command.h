// The mount, from parsed options to the end of the daemon.
#pragma once

#include <optional>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "fusefs/options.h"

namespace recordfs {

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

// Opens the sources, mounts them, and serves them until they are unmounted. Returns the exit status. Reports errors to
// stderr, or to the log once it is in the background. Call it once, on the main thread, after hold_usr1().
int mount_sources(Options options);

}  // namespace recordfs
