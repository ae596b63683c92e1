// The mount, from parsed options to the end of the daemon.
#pragma once

#include "fusefs/options.h"

namespace recordfs {

// Opens the sources, mounts them, and serves them until they are unmounted. Returns the exit status. Reports errors to
// stderr, or to the log once it is in the background. Call it once, on the main thread, after hold_usr1().
int mount_sources(Options options);

}  // namespace recordfs
