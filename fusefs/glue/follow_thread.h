// FollowThread: shows what is appended to the sources of a mount (-o follow).
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "fusefs/follow/growing_file.h"
#include "fusefs/follow/growth_source.h"
#include "fusefs/glue/fuse.h"

namespace recordfs {

class FollowThread {
 public:
  // Watches from now on. The process may fork until start().
  explicit FollowThread(std::unique_ptr<GrowthSource> followed);
  ~FollowThread() { stop(); }
  FollowThread(const FollowThread&) = delete;
  FollowThread& operator=(const FollowThread&) = delete;

  // Starts a thread that serves no requests: its notifications can block until another request is answered. Returns
  // false if the system provides no thread.
  bool start(fuse_session* session);
  // Cancels a check, and joins the thread.
  void stop();

 private:
  void run();
  bool look();

  FileWatch watch_;
  const std::unique_ptr<GrowthSource> followed_;
  std::atomic<bool> is_stopping_{false};
  fuse_session* session_ = nullptr;
  std::thread thread_;
};

}  // namespace recordfs
