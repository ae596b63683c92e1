// CRC-32 (IEEE 802.3, the one of zlib and gzip).
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs {

// CRC-32 of `bytes`, going on from `previous` (the CRC of what stands before them). Any thread.
std::uint32_t crc32(Bytes bytes, std::uint32_t previous = 0);

}  // namespace recordfs
