// FileWatch: waits until one of several files may have changed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/base/descriptor.h"

namespace recordfs {

// One thread waits; wake() and stop() may be called from any. It may be made before a process forks.
class FileWatch {
 public:
  using Milliseconds = std::chrono::milliseconds;

  // Without inotify, or where it gives no more watches, wait() just takes its time.
  explicit FileWatch(const std::vector<std::string>& paths);

  // Returns when a file may have changed, after kPoll, and when wake() or stop() was called. A call of wake() counts
  // also when nobody waited.
  void wait();
  // The same, and also when whoever reads from the pipe or socket `output` has gone. False: he has.
  bool wait(int output);
  // Lets time pass. Only stop() ends it sooner.
  void rest(Milliseconds time);

  void wake();
  void stop();
  bool is_stopped() const;

  static constexpr Milliseconds kPoll{1000};

 private:
  Descriptor changes_;  // of inotify
  Descriptor wakes_;
  Descriptor stops_;
};

}  // namespace recordfs
