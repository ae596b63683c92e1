// Writes to descriptors.
#pragma once

#include "core/base/bytes.h"

namespace recordfs {

// Writes all bytes. Returns 0, or errno. Thread-safe.
int write_all(int descriptor, Bytes bytes);

}  // namespace recordfs
