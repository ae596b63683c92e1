// RecordfsMounts: where recordfs itself is mounted. A mirror that read there could wait for its own answer, or for that
// of a mirror that waits for it.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "core/base/descriptor.h"

namespace recordfs {

// Thread-safe.
class RecordfsMounts {
 public:
  // Opens the mount table, because a confined daemon cannot do so later.
  RecordfsMounts();

  // Returns whether the device, as in st_dev, is a mount of recordfs that this process can see. Reads the mount table
  // again if it has changed. Returns true for any device if there is no table.
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
