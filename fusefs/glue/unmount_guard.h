// The process that does for a daemon what the daemon has dropped the privileges for: unmounting, and opening the log.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/descriptor.h"

namespace recordfs {

// Returns the id of the mount at `path`, unique while it exists, or 0 if unknown. Sends its daemon no request.
std::uint64_t mount_at(const std::string& path);

// A child process that unmounts, and opens the log again. The daemon has dropped these privileges, and may be killed.
//
// Unmounts when it is destroyed, or when the process ends in any way, even by SIGKILL. Leaves later mounts at the same
// path alone. Not thread-safe, except unmount().
class UnmountGuard {
 public:
  struct Config {
    std::string mountpoint;                // absolute path of a directory; empty: no guard
    std::uint64_t mount = 0;               // its id: mount_at()
    bool remove_directory = false;         // if nothing is mounted there
    std::function<void()> confine;         // called in the child before it waits; may be null
    std::function<Descriptor()> open_log;  // called in the child; may be null
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

  // Returns the log file, opened again; an invalid descriptor if that failed. Blocks. On the thread that also calls
  // unmount_if_unused().
  Descriptor open_log();

 private:
  [[noreturn]] static void run(const Config& config, int line);

  Descriptor line_;
  pid_t child_ = 0;
};

}  // namespace recordfs
