#include "core/base/request_context.h"

#include <algorithm>

namespace recordfs {

RequestContext RequestContext::with(LargeAllocations& allocations) const {
  RequestContext context = *this;
  context.allocations_ = &allocations;
  return context;
}

RequestContext RequestContext::with(ReadWindow& window) const {
  RequestContext context = *this;
  context.window_ = &window;
  return context;
}

RequestContext RequestContext::filling_unreadable(bool fills) const {
  RequestContext context = *this;
  context.fills_unreadable_ = fills;
  return context;
}

// REQUIRES: attempt_ is not null.
Error RequestContext::refusal(Permission needed) const {
  attempt_->refused = std::max(attempt_->refused, needed);
  return {.code = Code::kPending, .detail = "would block"};
}

Result<void> RequestContext::permit(Permission needed) const {
  if (cancelled()) return Error{.code = Code::kInterrupted, .detail = "the request was interrupted"};
  if (permission_ >= needed) return {};
  return refusal(needed);
}

Result<void> RequestContext::permit_wait_for(std::uint64_t filesystem) const {
  if (filesystem == 0) return {};
  set_filesystem(filesystem);
  TRY(permit(Permission::kMayBlock));
  if (filesystems_ == nullptr || std::ranges::find(*filesystems_, filesystem) != filesystems_->end()) return {};
  return refusal(Permission::kMayBlock);
}

Result<void> RequestContext::spend(std::uint64_t bytes) const {
  if (attempt_ != nullptr) attempt_->bytes += std::min(bytes, UINT64_MAX - attempt_->bytes);
  const bool is_slow = attempt_ != nullptr && attempt_->bytes >= kSlow;
  if (is_slow || cancelled()) return permit_slow_work();
  return {};
}

Result<void> RequestContext::reserve_large() const {
  TRY(permit_slow_work());
  if (allocations_ == nullptr) return {};
  allocations_->on_large_allocation(*this);
  return permit_slow_work();
}

}  // namespace recordfs
