#include "core/store/decode_budget.h"

namespace recordfs {

void DecodeBudget::take(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return taken_ == 0 || (taken_ <= limit_ && bytes <= limit_ - taken_); });
  taken_ += bytes;
}

void DecodeBudget::give_back(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    taken_ -= bytes;
  }
  returned_.notify_all();
}

void DecodeBudget::Turn::on_large_allocation() {
  if (has_it_) return;
  budget_.take(budget_.limit_);
  has_it_ = true;
}

}  // namespace recordfs
