// Background: moves the mount to the background once it answers.
#pragma once

#include <functional>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace recordfs {

// The process that a shell has started ends when the mount answers, or with the status of a daemon that has failed
// before. Not thread-safe.
class Background {
 public:
  // Forks, unless the mount stays in the foreground, and returns in the child. It keeps the session, the standard
  // streams and the current directory. The calling process never returns: it ends with 0 after
  // ready(), and otherwise with the child's exit status. Fails with kIo. REQUIRES: one thread.
  static Result<Background> begin(bool foreground);

  // Closes the standard streams, begins a session, and lets the parent end. Does nothing in the foreground. Call it
  // once.
  void ready();

 private:
  Background() = default;

  Descriptor null_;    // empty in the foreground; as the next
  Descriptor parent_;  // a pipe
};

}  // namespace recordfs
