// A signal that asks for the end, for commands that have something to put in order first.
#pragma once

#include <array>
#include <csignal>

namespace recordfs {

// While it lives, the first SIGHUP, SIGINT or SIGTERM is only remembered; a second one of the same kind ends the
// program as always. What was ignored stays ignored. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Whether one came. Any thread.
  static bool came();
  // Ends the program by the signal that came, if one did: whoever started it sees that.
  static void pass_on();

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace recordfs
