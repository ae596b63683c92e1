// The signals that ask a daemon for its end: SIGHUP, SIGINT, SIGTERM.
#pragma once

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "fusefs/glue/fuse.h"

namespace recordfs {

// While one lives, these signals wait instead of ending the process; one that the caller had ignored (nohup, a job in
// the background of a script) stays ignored. Programs that libfuse starts to mount and unmount are not disturbed so:
// it waits for them with no second try, and a signal on the way would make a failure of a mount that stands.
//
// Made and destroyed by one thread, before all others, as threads inherit what waits.
class EndingSignals {
 public:
  EndingSignals();
  ~EndingSignals();
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

  // From now on a signal, also one that came before, ends the loop of `session`, which the calling thread is about to
  // run and which must outlive stop(). False: the system gives no thread.
  bool watch(fuse_session* session);
  // The loop has ended; signals wait again.
  void stop();

 private:
  void run(fuse_session* session, pthread_t loop);

  sigset_t awaited_{};
  sigset_t before_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread watcher_;
};

}  // namespace recordfs
