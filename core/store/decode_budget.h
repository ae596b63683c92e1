// How much may be decoded at the same time.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "core/base/large_allocation.h"

namespace recordfs {

// Values that are being made are not yet counted by a cache. Those that are large take their turns here, so that as
// many threads as there are do not hold as many of them. Any thread.
class DecodeBudget {
 public:
  // `on_taken` is told of each share, without a lock, by the thread that has it: time to let go of what was kept.
  explicit DecodeBudget(std::uint64_t bytes, std::function<void()> on_taken = {})
      : limit_(std::max<std::uint64_t>(bytes, 1)), on_taken_(std::move(on_taken)) {}

  // A share of the budget. Waits until there is enough left, or nobody else has a share: one alone may pass the budget.
  // Waits no more when the thread's request is cancelled.
  class Share {
   public:
    Share(DecodeBudget& budget, std::uint64_t bytes) : budget_(budget), bytes_(bytes), has_it_(budget_.take(bytes_)) {}
    ~Share() {
      if (has_it_) budget_.give_back(bytes_);
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    DecodeBudget& budget_;
    const std::uint64_t bytes_;
    const bool has_it_;
  };

  // For work of which nobody can tell what it takes: costs nothing until the thread allocates much. Then it waits
  // for the whole budget, and has it to the end, or gives up as with a share. REQUIRES: the thread has no share.
  class Turn final : public LargeAllocations {
   public:
    explicit Turn(DecodeBudget& budget) : budget_(budget) {}
    ~Turn() override {
      if (has_it_) budget_.give_back(budget_.limit_);
    }

   private:
    void on_large_allocation() override;

    DecodeBudget& budget_;
    bool has_it_ = false;
  };

 private:
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);

  const std::uint64_t limit_;
  const std::function<void()> on_taken_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::uint64_t taken_ = 0;
};

}  // namespace recordfs
