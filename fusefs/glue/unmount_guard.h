// UnmountGuard: a process beside the daemon that unmounts. The daemon itself has given up the right to, and a killed
// one can't.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "core/base/descriptor.h"

namespace recordfs {

// Unmounts when the object goes, and also when the process ends in any other way; never what somebody else has mounted
// in the same place since. One thread at a time.
class UnmountGuard {
 public:
  struct Config {
    std::string mountpoint;         // a directory, by its path from the root; empty: nothing is to be unmounted
    bool remove_directory = false;  // when nothing is mounted on it any more
    std::function<void()> confine;  // called in the process that unmounts, before it waits; null: nothing is given up
  };

  // Forks. REQUIRES: one thread, and that it is mounted. Where the system gives no process, nothing is kept.
  explicit UnmountGuard(const Config& config);
  ~UnmountGuard();
  UnmountGuard(const UnmountGuard&) = delete;
  UnmountGuard& operator=(const UnmountGuard&) = delete;

  bool is_there() const { return child_ != 0; }

  // There is nothing left to unmount: who asks by the name later may find another mount there.
  void is_gone();

  // Unmounts soon, and does nothing from then on: for a process whose end may take long. Any thread.
  void unmount() const;

  // Unmounts unless somebody uses it. Returns whether it did.
  bool unmount_if_unused();

 private:
  Descriptor line_;
  pid_t child_ = 0;
};

}  // namespace recordfs
