// The mount, from a command line that was understood to the end of the daemon.
#pragma once

#include "fusefs/options.h"

namespace recordfs {

// Opens the sources, mounts them, and serves them until they are unmounted. What is wrong goes to stderr, or to the
// system's log once the process has gone to the background. Returns the exit status. Called once, from main's thread,
// after hold_usr1().
int mount_sources(Options options);

}  // namespace recordfs
