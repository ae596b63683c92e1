// Converts bytes of a file to numbers; no other code does that. A cursor reads forward and never leaves its span. The
// first failure is sticky: later reads return zero or no bytes, so a parser checks ok() once after a whole header.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/base/bytes.h"

namespace recordfs {

// Returns the little-endian number at `from`, for loops whose bounds are already checked.
template <class Number>
Number load_le(const std::byte* from) {
  std::array<std::byte, sizeof(Number)> bytes;
  std::memcpy(bytes.data(), from, sizeof(Number));
  if constexpr (std::endian::native != std::endian::little) std::ranges::reverse(bytes);
  return std::bit_cast<Number>(bytes);
}

class Cursor {
 public:
  explicit Cursor(Bytes bytes) : rest_(bytes), size_(bytes.size()) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::size_t remaining() const { return rest_.size(); }
  // Returns the number of bytes that were read; after a failure, of those before it.
  std::size_t offset() const { return size_ - rest_.size(); }
  // Returns the unread bytes, without advancing.
  Bytes rest() const { return rest_; }

  std::uint8_t u8() { return fixed<std::uint8_t, std::endian::little>(); }
  std::uint16_t u16_le() { return fixed<std::uint16_t, std::endian::little>(); }
  std::uint32_t u32_le() { return fixed<std::uint32_t, std::endian::little>(); }
  std::uint64_t u64_le() { return fixed<std::uint64_t, std::endian::little>(); }
  std::uint32_t u32_be() { return fixed<std::uint32_t, std::endian::big>(); }
  std::uint64_t u64_be() { return fixed<std::uint64_t, std::endian::big>(); }

  // Read little-endian base 128. Padding is accepted. Fail for more than 5 or 10 bytes, and for values of more than 32
  // or 64 bits.
  std::uint32_t varint32();
  std::uint64_t varint64();

  // Returns the next `size` bytes. Fails if there are fewer, and returns none.
  Bytes take(std::uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      fail();
      return {};
    }
    const Bytes taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return taken;
  }
  void skip(std::uint64_t size) { take(size); }

  // Makes the cursor fail, for a value that is out of range.
  void fail();

 private:
  template <class Number, std::endian order>
  Number fixed() {
    const Bytes taken = take(sizeof(Number));
    if (taken.empty()) return 0;
    std::array<std::byte, sizeof(Number)> bytes;
    std::memcpy(bytes.data(), taken.data(), sizeof(Number));
    if constexpr (order != std::endian::native) std::ranges::reverse(bytes);
    return std::bit_cast<Number>(bytes);
  }
  std::uint64_t varint(std::size_t max_bytes, std::uint8_t last_limit);

  Bytes rest_;
  std::size_t size_;
  bool ok_ = true;
};

}  // namespace recordfs
