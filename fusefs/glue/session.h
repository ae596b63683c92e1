// Runs a mount from start to end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/executor.h"
#include "fusefs/glue/follower.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

struct SessionOptions {
  std::string mountpoint;
  std::string fsname;
  bool foreground = false;
  bool debug = false;  // libfuse logs every request to stderr
  bool single_threaded = false;
  unsigned threads = 8;
  unsigned max_read = 0;  // bytes per read request; 0: the kernel's choice
  bool allow_other = false;
  bool has_extended_attributes = false;
  bool auto_unmount = false;           // lets fusermount3 detect a dead daemon; libfuse's own option starts it
  bool remove_mountpoint = false;      // at the end, if nothing is mounted there
  unsigned timeout = 0;                // seconds without a request until an unused mount ends; 0: never
  std::vector<std::string> passed_on;  // options for libfuse and the kernel
};

// Callbacks of serve(), called on the thread of serve() unless noted. They must not throw.
struct SessionEvents {
  std::function<void()> mounted;                    // mount(2) succeeded; not yet in the background
  std::function<void()> in_background;              // or staying in the foreground; no request served yet
  std::function<void()> unmount_guard_can_confine;  // in the unmount guard's process
  std::function<void()> can_confine;                // the process has one thread and starts no programs later
  std::function<void()> init_answered;              // reply to INIT sent; on a loop thread
  std::function<void()> abandoned;                  // about to _exit() because a source hangs; on EndLimit's thread
  std::function<void()> kept_mounted;               // idle timeout over, but the mount is in use; on the signal thread
  // SIGUSR1 arrived. `lines`: statistics about requests. On the signal thread, which serves no requests.
  std::function<void(const std::vector<std::string>& lines)> statistics_requested;
};

// Mounts `tree` and serves it. Returns after an unmount, SIGHUP, SIGINT, SIGTERM, or the idle timeout.
//
// Requests are received by `threads` threads of libfuse, or by the calling thread if single_threaded. Dispatcher
// says which threads finish them. Signals, pushed records, and the follower have a thread each.
//
// At the end it unmounts first. Then waiting requests get EINTR, running ones are cancelled, and all threads are
// joined. If that takes ten seconds because a source hangs, the process ends by _exit(0) instead.
//
// `follower`: null without -o follow. Fails with kIo if the mount, a thread, or the loop failed; the detail is the
// reason, often libfuse's. REQUIRES: one thread, and a call of hold_usr1().
Result<void> serve(const MountTree& tree, Executor& executor, const SessionOptions& options,
                   const SessionEvents& events, Follower* follower = nullptr);

}  // namespace recordfs
