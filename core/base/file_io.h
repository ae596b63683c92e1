// Reads and writes of whole ranges of files.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs {

// Return whether all bytes were read or written. Thread-safe.
bool read_fully(int descriptor, std::uint64_t at, MutableBytes out);
bool write_fully(int descriptor, std::uint64_t at, Bytes bytes);

}  // namespace recordfs
