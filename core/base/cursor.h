// Cursor: reads a run of bytes forwards and cannot leave it. The first failure sticks: every later
// read returns zero or nothing, so a parser reads a whole header and asks once, at the end.
//
// The only way by which bytes of a file become numbers. Not thread-safe; one cursor, one thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/base/bytes.h"

namespace recordfs {

class Cursor {
 public:
  explicit Cursor(Bytes bytes) : rest_(bytes), size_(bytes.size()) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::size_t remaining() const { return rest_.size(); }
  // How many bytes were read, from the beginning of the run.
  std::size_t offset() const { return size_ - rest_.size(); }
  // All that was not read yet; does not advance.
  Bytes rest() const { return rest_; }

  std::uint8_t u8() { return fixed<std::uint8_t, std::endian::little>(); }
  std::uint16_t u16_le() { return fixed<std::uint16_t, std::endian::little>(); }
  std::uint32_t u32_le() { return fixed<std::uint32_t, std::endian::little>(); }
  std::uint64_t u64_le() { return fixed<std::uint64_t, std::endian::little>(); }
  std::uint32_t u32_be() { return fixed<std::uint32_t, std::endian::big>(); }
  std::uint64_t u64_be() { return fixed<std::uint64_t, std::endian::big>(); }

  // Little-endian base 128, padded forms accepted. At most 5 bytes with the fifth below 0x10, or at
  // most 10 with the tenth below 2; anything longer or larger fails.
  std::uint32_t varint32();
  std::uint64_t varint64();

  // The next `size` bytes; empty and failed when there are fewer.
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

  // Marks the cursor as failed, for a value that is out of range.
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
