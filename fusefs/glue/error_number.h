// The only conversion of errors to errno values.
#pragma once

#include "core/base/result.h"

namespace recordfs {

// Returns the positive errno value for a reply: EIO for damage and failed reads, ENOENT for kNotFound, EINTR for
// kInterrupted, ENOMEM for kOutOfMemory, EOPNOTSUPP for kUnsupported; see the .cc file for the rest.
int error_number(const Error& error);

}  // namespace recordfs
