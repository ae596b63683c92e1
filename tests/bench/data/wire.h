// Writes numbers as the formats encode them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace recordfs::bench {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
}

// Appends `width` bytes, little-endian.
inline void put_fixed(std::string& out, std::uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

// Append a field of a protobuf message.
inline void put_number(std::string& out, unsigned field, std::uint64_t value) {
  put_varint(out, field << 3);
  put_varint(out, value);
}
inline void put_bytes(std::string& out, unsigned field, std::string_view value) {
  put_varint(out, field << 3 | 2);
  put_varint(out, value.size());
  out += value;
}

}  // namespace recordfs::bench
