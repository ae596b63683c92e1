#include "core/base/large_allocation.h"

namespace recordfs {

thread_local LargeAllocations* LargeAllocations::current_ = nullptr;

LargeAllocations::LargeAllocations() : before_(current_) { current_ = this; }

LargeAllocations::~LargeAllocations() { current_ = before_; }

Result<void> LargeAllocations::ask_large() {
  TRY(RequestContext::permit_slow_work());
  if (current_ == nullptr) return {};
  current_->on_large_allocation();
  return RequestContext::permit_slow_work();
}

}  // namespace recordfs
