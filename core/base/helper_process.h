// A child process that does for the daemon what the daemon itself may no longer do.
#pragma once

#include <sys/types.h>

#include <functional>
#include <initializer_list>
#include <set>
#include <utility>

#include "core/base/descriptor.h"

namespace recordfs {

// Closes all descriptors of the process from 3 on, except these.
void close_descriptors_except(const std::set<unsigned>& kept);

// Owns a child process and one end of a socket to it, which carries packets (SOCK_SEQPACKET). The other end closes when
// this process ends in any way, even by SIGKILL. Not thread-safe, except line().
class HelperProcess {
 public:
  // No process.
  HelperProcess() = default;
  // Forks. The child has the name `name` (prctl(2)), no other open files than `kept` and its end of the socket, and
  // ignores the signals that end the daemon. It calls `run` with its end, and then ends. is_there() is false if the
  // system provides no process. REQUIRES: one thread.
  HelperProcess(const char* name, std::initializer_list<int> kept, const std::function<void(int line)>& run);
  ~HelperProcess() { end(); }
  HelperProcess(HelperProcess&& other) noexcept
      : line_(std::move(other.line_)), child_(std::exchange(other.child_, 0)) {}
  HelperProcess& operator=(HelperProcess&&) = delete;

  bool is_there() const { return child_ != 0; }
  const Descriptor& line() const { return line_; }

  // Closes the socket, and waits for the child's end. Does nothing if there is no process.
  void end();

 private:
  Descriptor line_;
  pid_t child_ = 0;
};

}  // namespace recordfs
