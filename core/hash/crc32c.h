// CRC-32C (Castagnoli, RFC 3720 B.4), and the masking that LevelDB and TFRecord store it with.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs {

// CRC-32C of `bytes`, going on from `previous` (the CRC of what stands before them). Any thread.
std::uint32_t crc32c(Bytes bytes, std::uint32_t previous = 0);

// The stored form of a CRC: rotated right by 15 bits plus a constant (leveldb util/crc32c.h). Any thread.
constexpr std::uint32_t mask_crc(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr std::uint32_t unmask_crc(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace recordfs
