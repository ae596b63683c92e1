#include "core/base/request_context.h"

#include <algorithm>

namespace recordfs {

thread_local RequestContext* RequestContext::current_ = nullptr;

RequestContext::RequestContext(Work work, const std::atomic<bool>* cancelled, const Filesystems* filesystems)
    : work_(work), cancelled_(cancelled), filesystems_(filesystems), before_(current_) {
  current_ = this;
}

RequestContext::~RequestContext() { current_ = before_; }

// REQUIRES: the thread has a context.
Error RequestContext::refusal(Work needed) {
  current_->refused_ = std::max(current_->refused_, needed);
  return {.code = Code::kPending, .detail = "would block"};
}

Result<void> RequestContext::permit(Work needed) {
  if (cancelled()) return Error{.code = Code::kInterrupted, .detail = "the request was interrupted"};
  if (work() >= needed) return {};
  return refusal(needed);
}

Result<void> RequestContext::permit_wait_for(std::uint64_t filesystem) {
  if (filesystem == 0 || current_ == nullptr) return {};
  set_filesystem(filesystem);
  TRY(permit(Work::kMayBlock));
  const Filesystems* allowed = current_->filesystems_;
  if (allowed == nullptr || std::ranges::find(*allowed, filesystem) != allowed->end()) return {};
  return refusal(Work::kMayBlock);
}

Result<void> RequestContext::spend(std::uint64_t bytes) {
  if (current_ == nullptr) return {};
  current_->done_ += std::min(bytes, UINT64_MAX - current_->done_);
  if (current_->done_ >= kSlow || cancelled()) return permit_slow_work();
  return {};
}

}  // namespace recordfs
