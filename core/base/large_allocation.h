// Where a thread that is about to take much memory can be made to wait for its turn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "core/base/request_context.h"

namespace recordfs {

// Told by a thread before it allocates kLarge bytes or more at once: as one number, whatever they are for. What grows
// by doubling tells so too.
class LargeAllocations {
 public:
  static constexpr std::uint64_t kLarge = 16u << 20;  // bytes

  // While it lives, the calling thread's large allocations come by here, and no more at the listener before. Destroyed
  // by the thread that made it.
  LargeAllocations();
  virtual ~LargeAllocations();
  LargeAllocations(const LargeAllocations&) = delete;
  LargeAllocations& operator=(const LargeAllocations&) = delete;

  // Tells the calling thread's listener, if it has one and `bytes` are so many. Fails where they are not to be
  // allocated: as RequestContext::permit_slow_work() does.
  static Result<void> ask(std::uint64_t bytes) {
    if (bytes < kLarge) return {};
    return ask_large();
  }
  // The same for memory of the standard library's: std::bad_alloc where it is not to be allocated.
  static void announce(std::uint64_t bytes) {
    if (!ask(bytes)) throw std::bad_alloc();
  }
  // The same before `more` elements are appended to a vector.
  template <typename Element>
  static void announce_growth(const std::vector<Element>& vector, std::size_t more = 1) {
    if (vector.capacity() - vector.size() >= more) return;
    announce((vector.size() + std::max(vector.size(), more)) * sizeof(Element));
  }

 private:
  // May return without the turn that it waits for when the request was cancelled: then nothing is allocated.
  virtual void on_large_allocation() = 0;

  static Result<void> ask_large();

  static thread_local LargeAllocations* current_;
  LargeAllocations* const before_;
};

}  // namespace recordfs
