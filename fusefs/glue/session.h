// Serves a mount from start to end. It ends after a time without requests (-o timeout), and its shutdown has a limit.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/store/executor.h"
#include "fusefs/glue/follow_thread.h"
#include "fusefs/glue/mount_helper.h"
#include "fusefs/glue/operations.h"
#include "fusefs/glue/signals.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

struct SessionOptions {
  std::string mountpoint;
  std::string fsname{};  // used by mount_device()
  bool foreground = false;
  bool debug = false;  // libfuse logs every request to stderr
  bool single_threaded = false;
  unsigned threads = 8;
  unsigned max_read = 0;  // bytes per read request; 0: the kernel's choice
  bool allow_other = false;
  bool has_extended_attributes = false;
  bool auto_unmount = false;           // lets fusermount3 detect a dead daemon; libfuse's own option starts it
  unsigned timeout = 0;                // seconds without a request until an unused mount ends; 0: never
  std::vector<std::string> passed_on;  // options for libfuse and the kernel
};

// Callbacks of serve(), called on the thread of serve() unless noted. They must not throw.
struct SessionEvents {
  std::function<void()> mounted;        // mount(2) succeeded; no request served yet
  std::function<void()> init_answered;  // reply to INIT sent; on a loop thread
  std::function<void()> abandoned;      // about to _exit() because a source hangs; on EndLimit's thread
  std::function<void()> kept_mounted;   // idle timeout over, but the mount is in use; on the signal thread
  // The loop begins: all threads run. `statistics` may be called on any thread until `ended`.
  std::function<void(const std::function<RequestStatistics()>& statistics)> began;
  std::function<void()> ended;                            // the loop has ended
  std::function<void(const std::string& why)> unmounted;  // why: "SIGTERM", for example
  // SIGHUP arrived, and the helper has opened the log file again, or else not: an invalid descriptor. On the signal
  // thread. Null if there is no log file.
  std::function<void(const Descriptor& opened)> log_opened;
  // SIGUSR1 arrived. `lines`: statistics about requests. On the signal thread, which serves no requests.
  std::function<void(const std::vector<std::string>& lines)> statistics_requested;
};

// Mounts options.mountpoint, and returns the connection to the kernel, which the caller serves or passes on. The kernel
// holds back all requests until then. Fails with kIo; the detail is the reason, often libfuse's. Not thread-safe.
Result<Descriptor> mount_device(const SessionOptions& options);

// Serves `tree` on the mount that `helper` has started to make, with mount_device(). Without a helper,
// options.mountpoint is an opened device that another program has mounted. Changes the current directory to the root.
// Returns after an unmount, SIGINT, SIGTERM, or the idle timeout. SIGHUP opens the log file again. Without a log file
// it ends a mount in the foreground, and has no effect in the background.
//
// Requests are received by `threads` threads of libfuse, or by the calling thread if single_threaded. Dispatcher
// says which threads finish them. Signals, pushed records, and the follower have a thread each.
//
// At the end it unmounts first. Then waiting requests get EINTR, running ones are cancelled, and all threads are
// joined. If that takes ten seconds because a source hangs, the process ends by _exit(0) instead.
//
// `signals`: made before `helper` began to mount, so that a signal ends the mount in order from then on. `follower`:
// null without -o follow. Fails with kIo if the mount, a thread, or the loop failed; the detail is the reason, often
// libfuse's.
// REQUIRES: one thread, and a call of hold_usr1().
Result<void> serve(const MountTree& tree, Executor& executor, const SessionOptions& options, MountHelper& helper,
                   Signals& signals, const SessionEvents& events, FollowThread* follower = nullptr);

// How long the process waits at its end for threads that a source blocks.
inline constexpr std::chrono::seconds kLongestEnd{10};

// Tries to unmount when no request arrived for the whole timeout. Open files send no requests, but the kernel then
// refuses (EBUSY), and the time starts again. Not thread-safe.
class IdleEnd {
 public:
  // Tries to unmount, and returns whether it did.
  using Unmount = std::function<bool()>;

  static constexpr unsigned kTicks = 4;  // per timeout

  explicit IdleEnd(Unmount unmount) : unmount_(std::move(unmount)) {}

  // Call it kTicks times per timeout. `asked`: requests so far. `asked_now` returns that number again after an attempt
  // to unmount, which may itself cause requests.
  void tick(std::uint64_t asked, const std::function<std::uint64_t()>& asked_now);

  bool has_unmounted() const { return has_unmounted_; }

 private:
  const Unmount unmount_;
  std::uint64_t asked_ = 0;
  unsigned idle_ticks_ = 0;
  bool has_unmounted_ = false;
};

// Limits the duration of a shutdown.
class EndLimit {
 public:
  // Calls `overdue` on a separate thread if the object still exists `limit` after begin().
  EndLimit(std::chrono::milliseconds limit, std::function<void()> overdue)
      : limit_(limit), overdue_(std::move(overdue)) {}
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

  // Starts the time once. No limit applies if the system provides no thread. Thread-safe.
  void begin();

 private:
  void run();

  const std::chrono::milliseconds limit_;
  const std::function<void()> overdue_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace recordfs
