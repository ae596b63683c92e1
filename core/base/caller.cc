#include "core/base/caller.h"

#include <algorithm>

namespace recordfs {

thread_local Caller* Caller::current_ = nullptr;

Caller::Caller(Work work, const std::atomic<bool>* gave_up) : work_(work), gave_up_(gave_up), before_(current_) {
  current_ = this;
}

Caller::~Caller() { current_ = before_; }

Result<void> Caller::may_be_slow() {
  if (gave_up()) return Error{.code = Code::kInterrupted, .detail = "nobody waits"};
  if (!is_quick()) return {};
  current_->refused_ = true;
  return Error{.code = Code::kPending, .detail = "it takes long"};
}

Result<void> Caller::may_go_on(std::uint64_t bytes) {
  if (current_ == nullptr) return {};
  current_->done_ += std::min(bytes, UINT64_MAX - current_->done_);
  if (current_->done_ >= kSlow || gave_up()) return may_be_slow();
  return {};
}

}  // namespace recordfs
