// Follower: shows what is appended to the sources of a mount (-o follow).
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "fusefs/follow/followed.h"
#include "fusefs/follow/followed_file.h"
#include "fusefs/glue/fuse.h"

namespace recordfs {

class Follower {
 public:
  // Watches from now on. The process may fork until start().
  explicit Follower(std::unique_ptr<Followed> followed);
  ~Follower() { stop(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Starts a thread that serves no requests: its notifications can block until another request is answered. Returns
  // false if the system provides no thread.
  bool start(fuse_session* session);
  // Cancels a check, and joins the thread.
  void stop();

 private:
  void run();
  bool look();

  FileWatch watch_;
  const std::unique_ptr<Followed> followed_;
  std::atomic<bool> is_stopping_{false};
  fuse_session* session_ = nullptr;
  std::thread thread_;
};

}  // namespace recordfs
