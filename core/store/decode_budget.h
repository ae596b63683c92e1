// How much may be decoded at the same time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace recordfs {

// Values that are being made are not yet counted by a cache. Those that are large take their turns here, so that as
// many threads as there are do not hold as many of them. Any thread.
class DecodeBudget {
 public:
  explicit DecodeBudget(std::uint64_t bytes) : limit_(bytes) {}

  // A share of the budget. Waits until there is enough left, or nobody else has a share: one alone may pass the budget.
  class Share {
   public:
    Share(DecodeBudget& budget, std::uint64_t bytes);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    DecodeBudget& budget_;
    const std::uint64_t bytes_;
  };

 private:
  const std::uint64_t limit_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::uint64_t taken_ = 0;
};

}  // namespace recordfs
