// A mount from its beginning to its end: session, signals, background, loop.
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
  bool debug = false;  // libfuse's trace of every request, on stderr
  bool single_threaded = false;
  unsigned threads = 8;
  unsigned max_read = 0;  // bytes that the kernel asks for at once; 0: as many as it likes
  bool allow_other = false;
  bool has_extended_attributes = false;
  // fusermount3 shall see that a killed daemon's mount is dead. (That it unmounts at all is an option for libfuse.)
  bool shows_its_death = false;
  bool remove_mountpoint = false;      // at the end, when nothing is mounted on it any more
  unsigned timeout = 0;                // seconds without a request until an unused mount ends; 0: never
  std::vector<std::string> passed_on;  // further options for libfuse and the kernel, as they were given
};

// What a mount tells of itself. Nothing may throw.
struct SessionEvents {
  std::function<void()> mounted;                    // by mount(2), before the process goes to the background
  std::function<void()> in_background;              // it has gone there, before the first request
  std::function<void()> unmount_guard_can_confine;  // in the process that unmounts when this one has ended
  std::function<void()> can_confine;  // there is one thread, and the process needs to start no other program
  std::function<void()> stands;       // INIT was answered; on one of the loop's threads
  std::function<void()> abandoned;    // the process ends now, although threads still wait for a source
  std::function<void()> in_use;       // the timeout is over, but the mount can't be unmounted; as `asked`
  // Somebody wants statistics (SIGUSR1): here are lines about requests. On a thread that serves none.
  std::function<void(const std::vector<std::string>& lines)> asked;
};

// Mounts `tree` and serves it until it is unmounted or a signal asks for the end. `follower` follows the tree's files
// meanwhile; null: none is. Fails with kIo when the mount never stood, or did not end well; then the reason is
// libfuse's, or fusermount3's. hold_usr1() has to have been called.
Result<void> serve(const MountTree& tree, Executor& executor, const SessionOptions& options,
                   const SessionEvents& events, Follower* follower = nullptr);

}  // namespace recordfs
