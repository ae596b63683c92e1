// Writes numbers as the formats encode them.
#pragma once

#include <cstdint>
#include <string>

namespace recordfs::bench {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
}

// Appends `width` bytes, little-endian.
inline void put_fixed(std::string& out, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

}  // namespace recordfs::bench
