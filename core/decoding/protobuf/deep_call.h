// Calls functions that may need more stack than their thread has.
#pragma once

#include <functional>

namespace recordfs::messages {

// Calls `work` in a new thread with a stack of 64 MiB and waits for it. Rethrows the exceptions of `work`. Throws
// std::bad_alloc if it cannot create the thread.
void call_deep(const std::function<void()>& work);

}  // namespace recordfs::messages
