// MountHelper: mounts and unmounts for a daemon that has dropped these privileges.
#pragma once

#include <functional>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/helper_process.h"
#include "core/base/result.h"

namespace recordfs {

// A child process that mounts when the daemon asks for it, and unmounts. It parses no byte of a source. The daemon,
// which does, can drop its privileges before it opens the first one.
//
// Unmounts when it is ended, or when the daemon ends in any way, even by SIGKILL. Leaves later mounts at the same path
// alone. Not thread-safe, except unmount().
class MountHelper {
 public:
  struct Point {
    std::string path;               // absolute path of a directory
    bool remove_directory = false;  // at the end, if nothing is mounted there
  };
  // Called in the child. Details of errors are reasons for users, of at most 4 KiB.
  struct Config {
    std::function<Result<Point>()> prepare;                            // makes and checks the mount point
    std::function<Result<Descriptor>(const std::string& path)> mount;  // returns the connection to the kernel
    std::function<void()> confine;                                     // once it has mounted
    std::function<Descriptor()> open_log;                              // opens the log file again; may be null
  };

  // No process, for a device that another program has mounted.
  MountHelper() = default;
  // Forks. If that fails, is_there() is false. REQUIRES: one thread.
  explicit MountHelper(const Config& config);
  MountHelper(MountHelper&&) = default;

  bool is_there() const { return process_.is_there(); }

  // Lets the helper make and check the mount point while the caller goes on. REQUIRES: prepared() follows,
  // unless the object is destroyed before.
  void start_preparing();
  // Waits, and returns the path of the mount point. Fails with kIo; the detail is the reason.
  Result<std::string> prepared();
  // Lets the helper mount while the caller goes on. REQUIRES: prepared() succeeded, and mounted()
  // follows, unless the object is destroyed before.
  void start_mounting();
  // Waits, and returns the connection to the kernel. Fails as prepared().
  Result<Descriptor> mounted();

  // Reports that the mount is gone, so that the helper leaves the path alone.
  void is_gone();
  // Asks the helper to unmount and exit, without waiting for it. Thread-safe while the object exists.
  void unmount() const;
  // Unmounts unless the mount is in use, and returns whether it did. Blocks. Not on a thread that serves requests,
  // because the kernel may send some meanwhile.
  bool unmount_if_unused();
  // Returns the log file, opened again; an invalid descriptor if that failed. Blocks. On the thread that also calls
  // unmount_if_unused().
  Descriptor open_log();
  // Unmounts, and waits for the process.
  void end() { process_.end(); }

 private:
  HelperProcess process_;
};

}  // namespace recordfs
