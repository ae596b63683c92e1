// Makes allocations fail one at a time, so that a test can check the handling of each.
//
// A program linked with failing_allocations.cc has its own malloc and free, which the codec libraries use too. With a
// sanitizer, which needs its own malloc, only operator new is replaced, and C allocations do not fail.
#pragma once

#include <cstdint>

namespace recordfs::testing {

// Counts the allocations of all threads during its lifetime, and makes some of them fail. Only one may exist at a time.
class FailingAllocations {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;
  static constexpr std::uint64_t kAllBehind = UINT64_MAX;

  // Makes `count` allocations fail from number `first` on, counted from 0.
  explicit FailingAllocations(std::uint64_t first = kNone, std::uint64_t count = 1);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  // Return the number of allocations so far, and how many of them failed.
  std::uint64_t seen() const;
  std::uint64_t failed() const;

  // During its lifetime, allocations of this thread neither count nor fail. For the test's own allocations.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
  };

  // Triggers the allocations that the C library makes once and keeps: for the first exception, for error messages, and
  // for the stacks of finished threads. Then in_use() can be compared before and after a test.
  static void take_what_is_kept();

  // Returns the number of allocated blocks in the process; 0 with a sanitizer, which detects leaks itself.
  static std::int64_t in_use();
};

}  // namespace recordfs::testing
