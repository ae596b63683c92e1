#include "core/base/cursor.h"

namespace recordfs {

Bytes Cursor::take(std::uint64_t size) {
  if (!ok_ || size > rest_.size()) {
    fail();
    return {};
  }
  const Bytes taken = rest_.first(static_cast<std::size_t>(size));
  rest_ = rest_.subspan(static_cast<std::size_t>(size));
  return taken;
}

void Cursor::fail() {
  ok_ = false;
  size_ -= rest_.size();
  rest_ = {};
}

std::uint64_t Cursor::fixed(std::size_t bytes) {
  const Bytes taken = take(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = taken.size(); i > 0; --i) {
    value = value << 8 | std::to_integer<std::uint64_t>(taken[i - 1]);
  }
  return value;
}

std::uint64_t Cursor::fixed_be(std::size_t bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : take(bytes)) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
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
