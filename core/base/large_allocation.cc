#include "core/base/large_allocation.h"

namespace recordfs {

thread_local LargeAllocations* LargeAllocations::current_ = nullptr;

LargeAllocations::LargeAllocations() : before_(current_) { current_ = this; }

LargeAllocations::~LargeAllocations() { current_ = before_; }

}  // namespace recordfs
