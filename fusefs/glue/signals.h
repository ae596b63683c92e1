// The signals of a daemon: SIGHUP, SIGINT and SIGTERM ask for its end, SIGUSR1 for what it has done so far.
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

// Lets SIGUSR1 wait from now on, until a Signals hears of it, instead of ending the process. To be called by the first
// thread, before all others.
void hold_usr1();

// While one lives, these signals wait instead of ending the process; one that the caller had ignored (nohup, a job in
// the background of a script) stays ignored. Programs that libfuse starts to mount and unmount are not disturbed so:
// it waits for them with no second try, and a signal on the way would make a failure of a mount that stands.
//
// Made and destroyed by one thread, before all others, as threads inherit what waits.
class Signals {
 public:
  // What is done on the thread that awaits the signals, which serves no request. Nothing may throw.
  struct Watched {
    std::function<void()> usr1{};
    std::function<void()> ending{};     // once, when a signal asks for the end
    std::chrono::milliseconds tick{0};  // how often `ticked` is called; 0: never
    std::function<void()> ticked{};
  };

  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // From now on a signal, also one that came before, ends the loop of `session`, which the calling thread is about to
  // run and which must outlive stop(). False: the system gives no thread.
  bool watch(fuse_session* session, Watched watched);
  // The loop has ended; signals wait again.
  void stop();

 private:
  void run(fuse_session* session, pthread_t loop);
  int next(const sigset_t& awaited) const;

  sigset_t awaited_{};
  sigset_t before_{};
  Watched watched_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread watcher_;
};

}  // namespace recordfs
