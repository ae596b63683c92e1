// Signals of the daemon: SIGINT and SIGTERM end it, SIGHUP ends it or opens its log again, SIGUSR1 requests statistics.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

#include "fusefs/glue/fuse.h"

namespace recordfs {

// Blocks SIGUSR1, which would end the process, until Signals::watch(). Call it on the first thread, before others
// exist.
void hold_usr1();

// Blocks these signals while it exists, and ignores SIGPIPE. Signals that the caller ignored (nohup, background jobs)
// stay ignored. A signal thus cannot interrupt libfuse's wait for fusermount3, which libfuse would take for a failure.
//
// Create and destroy it on one thread, before others exist: they inherit the signal mask.
class Signals {
 public:
  // Callbacks on the signal thread, which serves no requests. They must not throw.
  struct Watched {
    std::function<void()> usr1{};
    std::function<void()> hup{};        // null: SIGHUP ends the loop
    std::function<void()> ending{};     // once, before the loop is ended
    std::chrono::milliseconds tick{0};  // interval of `ticked`; 0: never
    std::function<void()> ticked{};
  };

  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Starts the signal thread. From now on an end signal, even a pending one, ends the loop of `session`, which the
  // calling thread is about to run. `session` must outlive stop(). Returns false if the system provides no thread.
  bool watch(fuse_session* session, Watched watched);
  // Joins the signal thread, after the loop. Signals then stay pending.
  void stop();

  // Returns the signal that has ended the loop; 0 if none has. REQUIRES: stop() has returned.
  int ended_by() const { return ended_by_; }

 private:
  void run(fuse_session* session, pthread_t loop);
  int next(const sigset_t& awaited);

  sigset_t awaited_{};
  sigset_t before_{};
  Watched watched_;
  std::chrono::steady_clock::time_point next_tick_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  int ended_by_ = 0;
  std::thread watcher_;
};

}  // namespace recordfs
