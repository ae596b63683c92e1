// Counts the large allocations in contexts that have it: RequestContext().with(allocations).
#pragma once

#include <utility>

#include "core/base/request_context.h"

namespace recordfs::testing {

class CountedAllocations final : public LargeAllocations {
 public:
  // Returns the number since the last call.
  int take() { return std::exchange(told_, 0); }

 private:
  void on_large_allocation(const RequestContext&) override { ++told_; }

  int told_ = 0;
};

}  // namespace recordfs::testing
