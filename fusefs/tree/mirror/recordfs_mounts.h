// Where recordfs is mounted itself: a mirror that asked there would wait for its own answer, or for that of a mirror
// that waits for it.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "core/base/descriptor.h"

namespace recordfs {

// Any thread.
class RecordfsMounts {
 public:
  // Opens the table, as a daemon may not do so later.
  RecordfsMounts();

  // Whether a device, as stat() shows it, is a mount of recordfs that this process can see. Looks into the table of
  // mounts when that has changed. Where there is no such table to look into, every device may be one.
  bool contains(std::uint64_t device) const;

 private:
  bool has_changed() const;
  void read() const;

  mutable std::mutex mutex_;
  mutable bool was_read_ = false;
  Descriptor table_;
  mutable std::set<std::uint64_t> devices_;
};

}  // namespace recordfs
