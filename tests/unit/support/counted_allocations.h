// Counts the large allocations that the calling thread reports during the object's lifetime.
#pragma once

#include <utility>

#include "core/base/large_allocation.h"

namespace recordfs::testing {

class CountedAllocations final : public LargeAllocations {
 public:
  // Returns the number since the last call.
  int take() { return std::exchange(told_, 0); }

 private:
  void on_large_allocation() override { ++told_; }

  int told_ = 0;
};

}  // namespace recordfs::testing
