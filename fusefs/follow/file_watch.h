// FileWatch: waits until one of several files may have changed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/base/descriptor.h"

namespace recordfs {

// One thread waits; any thread may call wake() and stop(). The process may fork after construction.
class FileWatch {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // Works without inotify, or without enough watches: wait() then returns after kPoll.
  explicit FileWatch(const std::vector<std::string>& paths);

  // Returns when a file may have changed, after kPoll, or after wake() or stop(). A wake() before the call counts.
  void wait();
  // Also returns when the reader of `output`, a pipe or socket, has gone. Returns false then.
  bool wait(int output);
  // Sleeps. Only stop() ends it early.
  void rest(Milliseconds time);

  void wake();
  void stop();
  bool is_stopped() const;

  static constexpr Milliseconds kPoll{1000};

 private:
  Descriptor changes_;  // inotify
  Descriptor wakes_;
  Descriptor stops_;
};

}  // namespace recordfs
