// The kernel's requests, answered from a MountTree. Handlers reply and parse; what names mean and what
// files hold is the tree's business.
#pragma once

#include <atomic>

#include "fusefs/glue/fuse.h"
#include "fusefs/glue/neighbours.h"
#include "fusefs/glue/parking.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// What the handlers work on; the userdata of the session.
struct Mount {
  const MountTree& tree;
  Parking& parking;
  Neighbours& neighbours;
  const unsigned max_read;                       // the mount option of that name, which INIT has to repeat
  std::atomic<bool> complete_init_reply{false};  // the kernel offers parallel directory operations
};

// The handlers' table, for fuse_session_new().
const fuse_lowlevel_ops& operations();

}  // namespace recordfs
