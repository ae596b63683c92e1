// Cursor: reads a run of bytes forwards and cannot leave it. The first failure sticks: every later
// read returns zero or nothing, so a parser reads a whole header and asks once, at the end.
//
// The only way by which bytes of a file become numbers. Not thread-safe; one cursor, one thread.
#pragma once

#include <cstdint>

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

  std::uint8_t u8() { return static_cast<std::uint8_t>(fixed(1)); }
  std::uint16_t u16_le() { return static_cast<std::uint16_t>(fixed(2)); }
  std::uint32_t u32_le() { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint64_t u64_le() { return fixed(8); }
  std::uint32_t u32_be() { return static_cast<std::uint32_t>(fixed_be(4)); }
  std::uint64_t u64_be() { return fixed_be(8); }

  // Little-endian base 128, padded forms accepted. At most 5 bytes with the fifth below 0x10, or at
  // most 10 with the tenth below 2; anything longer or larger fails.
  std::uint32_t varint32();
  std::uint64_t varint64();

  // The next `size` bytes; empty and failed when there are fewer.
  Bytes take(std::uint64_t size);
  void skip(std::uint64_t size) { take(size); }

  // Marks the cursor as failed, for a value that is out of range.
  void fail();

 private:
  std::uint64_t fixed(std::size_t bytes);
  std::uint64_t fixed_be(std::size_t bytes);
  std::uint64_t varint(std::size_t max_bytes, std::uint8_t last_limit);

  Bytes rest_;
  std::size_t size_;
  bool ok_ = true;
};

}  // namespace recordfs
