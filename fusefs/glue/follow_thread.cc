#include "fusefs/glue/follow_thread.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "core/base/request_context.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace recordfs {

FollowThread::FollowThread(std::unique_ptr<GrowthSource> followed)
    : watch_(followed->paths()), followed_(std::move(followed)) {}

bool FollowThread::start(fuse_session* session) {
  session_ = session;
  thread_ = start_thread([this] { run(); });
  return thread_.joinable();
}

void FollowThread::stop() {
  is_stopping_ = true;
  watch_.stop();
  if (thread_.joinable()) thread_.join();
}

void FollowThread::run() {
  while (!watch_.is_stopped()) {
    const auto begin = std::chrono::steady_clock::now();
    if (look()) watch_.rest(rest_after(std::chrono::steady_clock::now() - begin));
    watch_.wait();
  }
}

// Invalidates attributes only. When the kernel sees the new time, it drops cached data and entries. Invalidating these
// here would wait for their readers, and thus for threads of this mount.
bool FollowThread::look() {
  const auto notify = [this](std::uint64_t number) { fuse_lowlevel_notify_inval_inode(session_, number, -1, 0); };
  bool is_growing = true;  // without memory for a check: a later one may find some
  has_memory_for([&] { is_growing = followed_->look(RequestContext(is_stopping_), watch_, notify); });
  return is_growing;
}

}  // namespace recordfs
