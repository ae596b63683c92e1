// Appends numbers to bytes that will be written. The counterpart of Cursor. protobuf.h has varints.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>

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

}  // namespace recordfs
