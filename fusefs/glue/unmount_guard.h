// UnmountGuard: a child process that unmounts. The daemon has dropped that privilege, and may be killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "core/base/descriptor.h"

namespace recordfs {

// Unmounts when it is destroyed, or when the process ends in any way, even by SIGKILL. Leaves later mounts at the same
// path alone. Not thread-safe, except unmount().
class UnmountGuard {
 public:
  struct Config {
    std::string mountpoint;         // absolute path of a directory; empty: no guard
    bool remove_directory = false;  // if nothing is mounted there
    std::function<void()> confine;  // called in the child before it waits; may be null
  };

  // Forks. If that fails, nothing is unmounted (see is_there()). REQUIRES: one thread, and a mount.
  explicit UnmountGuard(const Config& config);
  ~UnmountGuard();
  UnmountGuard(const UnmountGuard&) = delete;
  UnmountGuard& operator=(const UnmountGuard&) = delete;

  bool is_there() const { return child_ != 0; }

  // Reports that the mount is gone, so that the guard leaves the path alone.
  void is_gone();

  // Asks the guard to unmount and exit, without waiting for it. Thread-safe while the object exists.
  void unmount() const;

  // Unmounts unless the mount is in use, and returns whether it did. Blocks. Not on a thread that serves requests,
  // because the kernel may send some meanwhile.
  bool unmount_if_unused();

 private:
  Descriptor line_;
  pid_t child_ = 0;
};

}  // namespace recordfs
