// Appends numbers to bytes that will be written. The counterpart of Cursor. protobuf.h has varints.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace recordfs {

// Append a number, the least or the most significant byte first. Throw std::bad_alloc.
template <std::unsigned_integral Number>
void append_le(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) out.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}
template <std::unsigned_integral Number>
void append_be(std::string& out, Number number) {
  for (std::size_t i = sizeof(Number); i-- > 0;) out.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}

// Appends numbers of `width` bytes, which are in the processor's byte order, with the least significant byte first.
// REQUIRES: numbers.size() is a multiple of `width`. Throws std::bad_alloc.
inline void append_numbers_le(std::string& out, std::string_view numbers, std::size_t width) {
  if (std::endian::native == std::endian::little || width <= 1) {
    out += numbers;
    return;
  }
  for (; !numbers.empty(); numbers.remove_prefix(width)) {
    const std::string_view number = numbers.substr(0, width);
    out.append(number.rbegin(), number.rend());
  }
}

}  // namespace recordfs
