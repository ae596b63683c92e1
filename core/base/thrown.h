// Where exceptions end: at a request, at the work of a thread or a task, and at the border to another language. Code in
// between reports failures as a Result, large buffers included. Only small allocations throw.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

namespace recordfs {

// Calls `function`. Returns whether it had enough memory: false if it threw std::bad_alloc.
template <class Function>
bool has_memory_for(const Function& function) {
  try {
    function();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Calls `function`. Returns 0, or the errno value for what it throws: ENOMEM for std::bad_alloc, and EIO for another
// exception, which only libraries throw.
template <class Function>
int error_thrown_by(const Function& function) {
  try {
    function();
    return 0;
  } catch (const std::exception& thrown) {
    return dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ? ENOMEM : EIO;
  }
}

}  // namespace recordfs
