#include "core/store/decode_budget.h"

namespace recordfs {

DecodeBudget::Share::Share(DecodeBudget& budget, std::uint64_t bytes) : budget_(budget), bytes_(bytes) {
  std::unique_lock lock(budget_.mutex_);
  budget_.returned_.wait(lock, [this] {
    return budget_.taken_ == 0 || (budget_.taken_ <= budget_.limit_ && bytes_ <= budget_.limit_ - budget_.taken_);
  });
  budget_.taken_ += bytes_;
}

DecodeBudget::Share::~Share() {
  {
    const std::lock_guard lock(budget_.mutex_);
    budget_.taken_ -= bytes_;
  }
  budget_.returned_.notify_all();
}

}  // namespace recordfs
