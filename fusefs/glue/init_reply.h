// The reply to INIT: what libfuse leaves out of it, and the moment at which it is sent.
//
// FUSE_PARALLEL_DIROPS: libfuse before 3.17 never tells the kernel that the mount takes several operations in one
// directory at a time, whatever a filesystem asks for, and then one LOOKUP that waits holds up its whole directory.
#pragma once

#include "fusefs/glue/fuse.h"

namespace recordfs {

struct Mount;

// Sees to it that the reply to INIT says so, where Mount::has_parallel_directories, and that Mount::init_answered is
// called when it was sent. Call it on a mounted session before its loop. Returns 0, or a negative errno value as
// fuse_session_custom_io does.
int watch_init_reply(fuse_session* session);

// To be called at the end of the handler of INIT: where the reply itself is not seen, this is when it was answered.
void reply_to_init_follows(Mount& mount);

}  // namespace recordfs
