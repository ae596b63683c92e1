// The only conversion of errors and exceptions to errno values.
#pragma once

#include <cerrno>
#include <exception>
#include <new>

#include "core/base/result.h"

namespace recordfs {

// Returns the positive errno value for a reply: EIO for damage and failed reads, ENOENT for kNotFound, EINTR for
// kInterrupted, ENOMEM for kOutOfMemory, EOPNOTSUPP for kUnsupported; see the .cc file for the rest.
int error_number(const Error& error);

// Calls `work`. Returns 0, or the errno value for what it throws: ENOMEM for std::bad_alloc, and EIO for a library's
// exception that nothing else catches.
template <class Work>
int error_thrown_by(const Work& work) {
  try {
    work();
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception&) {
    return EIO;
  }
}

}  // namespace recordfs
