// Handlers of the kernel's requests. Each unpacks a request, calls the MountTree, and replies.
#pragma once

#include <atomic>
#include <functional>

#include "fusefs/glue/dispatcher.h"
#include "fusefs/glue/fuse.h"
#include "fusefs/glue/read_ahead_pusher.h"
#include "fusefs/glue/request_counts.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// The userdata of the session.
struct Mount {
  const MountTree& tree;
  Dispatcher& dispatcher;
  ReadAheadPusher& pusher;
  const unsigned max_read;             // mount option; INIT repeats it
  const bool has_extended_attributes;  // false: ENOSYS, once
  // false: OPENDIR may return ENOSYS. The kernel then opens directories without a request, even of a dead mount, which
  // fusermount3 could not detect (auto_unmount).
  const bool hears_of_opened_directories;
  const std::function<void()> init_answered;  // called once, on the thread that sent the reply to INIT
  RequestCounts requests{};
  std::atomic<bool> awaits_init_reply{true};
  bool has_parallel_directories = false;  // offered by the kernel; set by INIT
};

// Returns the handlers, for fuse_session_new().
const fuse_lowlevel_ops& operations();

}  // namespace recordfs
