// CRC-32C (Castagnoli, RFC 3720 B.4), and the masked form that LevelDB and TFRecord store.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs {

// Returns the CRC-32C of `bytes`, continuing from `previous`, the CRC of the preceding bytes. Thread-safe.
std::uint32_t crc32c(Bytes bytes, std::uint32_t previous = 0);

// Converts a CRC to and from its stored form: rotated right by 15 bits plus a constant (leveldb util/crc32c.h).
constexpr std::uint32_t mask_crc(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr std::uint32_t unmask_crc(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace recordfs
