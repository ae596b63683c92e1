// The ranges of numbers of the containers in mirrored directories: they come when somebody looks into a container and
// go when the kernel has forgotten it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "fusefs/tree/node.h"

namespace recordfs {

// Any thread.
class NumberRanges {
 public:
  // Keeps all that `inode_map` has given away for ever.
  explicit NumberRanges(const InodeMap& inode_map);

  // Where a range of `length` values for a container begins: at `wanted` if it is free. A container that has one keeps
  // it. nullopt: there is no room.
  std::optional<std::uint64_t> take(std::uint64_t container, std::uint64_t wanted, std::uint64_t length);
  void give_back(std::uint64_t container);

  struct RangeOwner {
    std::uint64_t container = 0;
    std::uint64_t begin = 0;
  };
  // In whose range a value lies.
  std::optional<RangeOwner> find(std::uint64_t value) const;

 private:
  struct Range {
    std::uint64_t end = 0;
    std::optional<std::uint64_t> container;  // none: somebody else's
  };

  std::optional<std::uint64_t> first_free(std::uint64_t from, std::uint64_t length) const;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Range> ranges_;          // by begin
  std::map<std::uint64_t, std::uint64_t> begins_;  // by container
};

}  // namespace recordfs
