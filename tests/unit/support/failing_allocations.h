// Makes allocations fail, one after the other, so that a test can see what becomes of each.
//
// A program that is linked with failing_allocations.cc has its own malloc and free, which the libraries of codecs use
// too. Under a sanitizer, whose malloc has to stay, it has its own operator new alone: memory that C asks for does not
// fail then.
#pragma once

#include <cstdint>

namespace recordfs::testing {

// Counts the allocations of all threads while it lives, and lets some of them fail. One at a time.
class FailingAllocations {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;
  static constexpr std::uint64_t kAllBehind = UINT64_MAX;

  // Those from number `first` on fail, counted from 0, `count` of them.
  explicit FailingAllocations(std::uint64_t first = kNone, std::uint64_t count = 1);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  // How many allocations there were so far, and how many of them failed.
  std::uint64_t seen() const;
  std::uint64_t failed() const;

  // While it lives, allocations of this thread neither count nor fail: those of the test itself.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
  };

  // Takes what the C library takes once and keeps, so that in_use() is equal before and after: for the first exception,
  // for the words of an error, and for the stacks of threads that have ended.
  static void take_what_is_kept();

  // Pieces of memory that are in use now in the whole process; 0 under a sanitizer, which finds what was lost itself.
  static std::int64_t in_use();
};

}  // namespace recordfs::testing
