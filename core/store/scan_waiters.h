// Requests that wait for a scan to reach a value.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/store/indexed_chunk.h"

namespace recordfs {

// Not thread-safe.
class ScanWaiters {
 public:
  struct Waiter {
    std::uint64_t wait_id;
    std::function<void()> resume;
  };
  using Waiters = std::multimap<std::uint64_t, Waiter>;  // by the value that they wait for

  // Returns the id of the wait, which is not 0.
  std::uint64_t add(SearchKey search_key, std::uint64_t value, std::function<void()> resume);
  // Returns whether it was there.
  bool remove(std::uint64_t wait_id);
  bool empty() const;
  // Removes and returns those for which `is_reached` is true. That is so for all values up to some value of a search
  // key. Does not allocate.
  Waiters take(const std::function<bool(SearchKey search_key, std::uint64_t value)>& is_reached);

 private:
  static constexpr std::size_t kSearchKeys = 6;

  std::array<Waiters, kSearchKeys> waiters_;
  std::uint64_t next_wait_id_ = 1;
};

}  // namespace recordfs
