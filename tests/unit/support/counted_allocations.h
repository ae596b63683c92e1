// Counts the large allocations that the calling thread tells of while it lives.
#pragma once

#include <utility>

#include "core/base/large_allocation.h"

namespace recordfs::testing {

class CountedAllocations final : public LargeAllocations {
 public:
  // Since they were asked for last.
  int take() { return std::exchange(told_, 0); }

 private:
  void on_large_allocation() override { ++told_; }

  int told_ = 0;
};

}  // namespace recordfs::testing
