// Interruption: a chance for commands to clean up after a signal.
#pragma once

#include <array>
#include <csignal>

namespace recordfs {

// While it exists, the first SIGHUP, SIGINT or SIGTERM is only recorded, and ends waits for remote files. A second one
// of the same kind ends the program. Ignored signals stay ignored. At most one object at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Returns whether a signal came. Thread-safe.
  static bool came();
  // Ends the program by the recorded signal, if any, so that its parent sees that signal.
  static void pass_on();

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace recordfs
