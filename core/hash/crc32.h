// CRC-32 (IEEE 802.3), as in zlib and gzip.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs {

// Returns the CRC-32 of `bytes`, continuing from `previous`, the CRC of the preceding bytes. Thread-safe.
std::uint32_t crc32(Bytes bytes, std::uint32_t previous = 0);

}  // namespace recordfs
