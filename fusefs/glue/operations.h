// The kernel's requests, answered from a MountTree. Handlers reply and parse; what names mean and what
// files hold is the tree's business.
#pragma once

#include <atomic>
#include <functional>

#include "fusefs/glue/fuse.h"
#include "fusefs/glue/pending_requests.h"
#include "fusefs/glue/read_ahead_pusher.h"
#include "fusefs/glue/request_counts.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// What the handlers work on; the userdata of the session.
struct Mount {
  const MountTree& tree;
  PendingRequests& pending_requests;
  ReadAheadPusher& pusher;
  const unsigned max_read;             // the mount option of that name, which INIT has to repeat
  const bool has_extended_attributes;  // otherwise the kernel is told not to ask
  // Otherwise the kernel is told not to ask, and then it opens directories even of a mount that is dead: nobody could
  // find that out by opening one, as fusermount3 does for auto_unmount.
  const bool hears_of_opened_directories;
  const std::function<void()> init_answered;  // called once, by the thread that has sent the reply to INIT
  RequestCounts requests{};
  std::atomic<bool> awaits_init_reply{true};
  bool has_parallel_directories = false;  // the kernel offers parallel directory operations; set by INIT
};

// The handlers' table, for fuse_session_new().
const fuse_lowlevel_ops& operations();

}  // namespace recordfs
