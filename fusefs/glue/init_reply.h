// FUSE_PARALLEL_DIROPS: libfuse before 3.17 never tells the kernel that the mount takes several operations in one
// directory at a time, whatever a filesystem asks for, and then one LOOKUP that waits holds up its whole directory.
#pragma once

#include "fusefs/glue/fuse.h"

namespace recordfs {

// Sees to it that the reply to INIT says so, where Mount::complete_init_reply is set. Call it on a mounted session
// before its loop. Returns 0, or a negative errno value as fuse_session_custom_io does.
int complete_init_reply(fuse_session* session);

}  // namespace recordfs
