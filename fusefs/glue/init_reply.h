// Completes libfuse's reply to INIT, and reports when it was sent.
//
// libfuse before 3.17 never passes on FUSE_PARALLEL_DIROPS. Without it, one waiting LOOKUP blocks its whole directory.
#pragma once

#include "fusefs/glue/fuse.h"

namespace recordfs {

struct Mount;

// Sets that flag in the reply if Mount::has_parallel_directories, and calls Mount::init_answered after the reply. Call
// it on a mounted session, before its loop. Returns 0 or a negative errno value.
int watch_init_reply(fuse_session* session);

// Call it at the end of the INIT handler. From libfuse 3.17 on, it calls Mount::init_answered.
void reply_to_init_follows(Mount& mount);

}  // namespace recordfs
