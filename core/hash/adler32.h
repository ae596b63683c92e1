// Adler-32, as in zlib.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs {

inline constexpr std::uint32_t kAdler32OfNothing = 1;

// Returns the Adler-32 of `bytes`, continuing from `previous`, the one of the preceding bytes. Thread-safe.
std::uint32_t adler32(Bytes bytes, std::uint32_t previous = kAdler32OfNothing);

}  // namespace recordfs
