// Writes little-endian numbers into a file, for the mutators.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs::fuzz {

// REQUIRES: at + width <= file.size().
inline void put_number(MutableBytes file, std::size_t at, std::size_t width, std::uint64_t value) {
  for (std::size_t i = 0; i < width; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
}

inline std::uint64_t get_number(Bytes file, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i > 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(file[at + i - 1]);
  return value;
}

}  // namespace recordfs::fuzz
