#include "core/base/cursor.h"

namespace recordfs {

void Cursor::fail() {
  ok_ = false;
  size_ -= rest_.size();
  rest_ = {};
}

std::uint64_t Cursor::varint(std::size_t max_bytes, std::uint8_t last_limit) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < max_bytes && i < rest_.size(); ++i) {
    const auto byte = std::to_integer<std::uint8_t>(rest_[i]);
    value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) {
      if (i + 1 == max_bytes && byte >= last_limit) break;
      rest_ = rest_.subspan(i + 1);
      return value;
    }
  }
  fail();
  return 0;
}

std::uint32_t Cursor::varint32() { return static_cast<std::uint32_t>(varint(5, 0x10)); }

std::uint64_t Cursor::varint64() { return varint(10, 2); }

}  // namespace recordfs
