// NumberRanges: the ranges of numbers of containers in mirrored directories. A container takes one when it is first
// opened, and gives it back when the kernel has no references left.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "fusefs/tree/node.h"

namespace recordfs {

// Thread-safe.
class NumberRanges {
 public:
  // Takes the ranges of `inode_map` permanently.
  explicit NumberRanges(const InodeMap& inode_map);

  // Returns the start of a container's range of `length` values: the one it has, or a new one at `wanted` if that is
  // free, or elsewhere. Returns nullopt if no range is free.
  std::optional<std::uint64_t> take(std::uint64_t container, std::uint64_t wanted, std::uint64_t length);
  void give_back(std::uint64_t container);

  struct RangeOwner {
    std::uint64_t container = 0;
    std::uint64_t begin = 0;
  };
  std::optional<RangeOwner> find(std::uint64_t value) const;

 private:
  struct Range {
    std::uint64_t end = 0;
    std::optional<std::uint64_t> container;  // nullopt: taken permanently
  };

  std::optional<std::uint64_t> first_free(std::uint64_t from, std::uint64_t length) const;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Range> ranges_;          // by begin
  std::map<std::uint64_t, std::uint64_t> begins_;  // by container
};

}  // namespace recordfs
