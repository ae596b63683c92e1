// A hook that can make a thread wait before it allocates much memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "core/base/request_context.h"

namespace recordfs {

// A listener for the calling thread's allocations of at least kLarge bytes. Code calls ask() or announce() before it
// allocates: once for each allocation, and also when a vector grows by doubling.
class LargeAllocations {
 public:
  static constexpr std::uint64_t kLarge = 16u << 20;  // bytes

  // Installs itself as the calling thread's listener, and restores the previous one on destruction. Destroyed by the
  // same thread.
  LargeAllocations();
  virtual ~LargeAllocations();
  LargeAllocations(const LargeAllocations&) = delete;
  LargeAllocations& operator=(const LargeAllocations&) = delete;

  // Calls the listener if `bytes` is large and there is one; that may block. Fails like
  // RequestContext::permit_slow_work() if `bytes` is large; then the caller must not allocate.
  static Result<void> ask(std::uint64_t bytes) {
    if (bytes < kLarge) return {};
    return ask_large();
  }
  // Calls ask(), and throws std::bad_alloc if it fails. For memory of the standard library.
  static void announce(std::uint64_t bytes) {
    if (!ask(bytes)) throw std::bad_alloc();
  }
  // Calls announce() if appending `more` elements to `vector` reallocates it.
  template <typename Element>
  static void announce_growth(const std::vector<Element>& vector, std::size_t more = 1) {
    if (vector.capacity() - vector.size() >= more) return;
    announce((vector.size() + std::max(vector.size(), more)) * sizeof(Element));
  }

 private:
  // Blocks until the allocation may proceed, or the request is cancelled.
  virtual void on_large_allocation() = 0;

  static Result<void> ask_large();

  static thread_local LargeAllocations* current_;
  LargeAllocations* const before_;
};

}  // namespace recordfs
