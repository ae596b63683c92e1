#include "core/base/caller.h"

#include <algorithm>

namespace recordfs {

thread_local Caller* Caller::current_ = nullptr;

Caller::Caller(Work work, const std::atomic<bool>* gave_up, const Filesystems* filesystems)
    : work_(work), gave_up_(gave_up), filesystems_(filesystems), before_(current_) {
  current_ = this;
}

Caller::~Caller() { current_ = before_; }

// REQUIRES: a caller.
Error Caller::refusal(Work needed) {
  current_->refused_ = std::max(current_->refused_, needed);
  return {.code = Code::kPending, .detail = "this thread must not wait"};
}

Result<void> Caller::may_do(Work needed) {
  if (gave_up()) return Error{.code = Code::kInterrupted, .detail = "the request was interrupted"};
  if (work() >= needed) return {};
  return refusal(needed);
}

Result<void> Caller::may_wait_for(std::uint64_t filesystem) {
  if (filesystem == 0 || current_ == nullptr) return {};
  set_filesystem(filesystem);
  if (auto may = may_do(Work::kMayBlock); !may) return may;
  const Filesystems* allowed = current_->filesystems_;
  if (allowed == nullptr || std::ranges::find(*allowed, filesystem) != allowed->end()) return {};
  return refusal(Work::kMayBlock);
}

Result<void> Caller::may_go_on(std::uint64_t bytes) {
  if (current_ == nullptr) return {};
  current_->done_ += std::min(bytes, UINT64_MAX - current_->done_);
  if (current_->done_ >= kSlow || gave_up()) return may_be_slow();
  return {};
}

}  // namespace recordfs
