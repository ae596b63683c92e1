#include "core/store/decode_budget.h"

#include "core/base/cancellable_mutex.h"

namespace recordfs {

// Returns false if the request was cancelled.
bool DecodeBudget::take(std::uint64_t bytes) {
  {
    std::unique_lock lock(mutex_);
    const auto has_room = [&] { return taken_ == 0 || (taken_ <= limit_ && bytes <= limit_ - taken_); };
    if (!wait_or_cancel(returned_, lock, has_room)) return false;
    taken_ += bytes;
  }
  if (on_taken_) on_taken_();
  return true;
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
  has_it_ = budget_.take(budget_.limit_);
}

}  // namespace recordfs
