// MemoryBudget: what one lookup or iteration may hold of tables that are much larger in memory than in their files.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace recordfs::database {

// A merge holds a table and a block of each run at once, and a small file may have many runs whose blocks are large.
// Ordinary tables take almost nothing of a budget: only memory in excess of a usual ratio to the stored size counts.
// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : limit_(bytes) {}
  static std::shared_ptr<MemoryBudget> of(const Limits& limits) {
    return std::make_shared<MemoryBudget>(2 * std::min(limits.metadata_bytes, UINT64_MAX / 2));
  }

  // Scoped: a part of the budget.
  class Share {
   public:
    Share() = default;
    Share(std::shared_ptr<MemoryBudget> budget, std::uint64_t bytes) : budget_(std::move(budget)), bytes_(bytes) {}
    Share(Share&& other) noexcept : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (budget_) budget_->taken_.fetch_sub(bytes_, std::memory_order_relaxed);
    }

   private:
    std::shared_ptr<MemoryBudget> budget_;
    std::uint64_t bytes_ = 0;
  };

  // Returns a share for `bytes` in memory of which `usual` are in proportion to the file. One share alone may exceed
  // the budget. Fails with kLimit if the budget is used up. `budget` may be null: no limit.
  static Result<Share> take(const std::shared_ptr<MemoryBudget>& budget, std::uint64_t bytes, std::uint64_t usual) {
    if (!budget || bytes <= usual) return Share();
    const std::uint64_t counted = bytes - usual;
    const std::uint64_t before = budget->taken_.fetch_add(counted, std::memory_order_relaxed);
    Share share(budget, counted);
    if (before == 0 || (before <= budget->limit_ && counted <= budget->limit_ - before)) return share;
    return Error{
        .code = Code::kLimit,
        .detail = fmt::format("the blocks and indexes that are needed at once exceed the limit of {} bytes (see "
                              "--max-chunk)",
                              budget->limit_)};
  }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace recordfs::database
