// The input and output of the machine's inner loop: buffers that are read forwards, and an output that is filled from
// its end to its front. The functions do not check bounds: the caller must. Small pieces move as whole words. A word
// ends where the piece ends, and later output overwrites the bytes before the piece.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/base/bytes.h"

namespace recordfs::riegeli::transposed {

inline constexpr std::size_t kWordBytes = 8;

// Returns the little-endian word formed by the 8 bytes of `bytes` that end at `end`. REQUIRES: 8 <= end <= size.
inline std::uint64_t word_ending_at(Bytes bytes, std::size_t end) {
  std::array<std::byte, kWordBytes> word;
  copy_bytes(bytes.subspan(end - kWordBytes, kWordBytes), word);
  if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(word);
  return std::bit_cast<std::uint64_t>(word);
}

// Returns the word whose last bytes are `bytes`. REQUIRES: at most 8 bytes.
inline std::uint64_t short_word(Bytes bytes) {
  std::uint64_t word = 0;
  for (const std::byte byte : bytes) word = word >> 8 | std::to_integer<std::uint64_t>(byte) << 56;
  return word;
}

inline std::array<std::byte, kWordBytes> bytes_of_word(std::uint64_t word) {
  auto bytes = std::bit_cast<std::array<std::byte, kWordBytes>>(word);
  if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
  return bytes;
}

// A buffer and the read position in it.
struct Input {
  Bytes bytes;
  std::size_t at = 0;

  std::size_t left() const { return bytes.size() - at; }

  // Takes the next `size` bytes as the last bytes of a word. REQUIRES: size <= left(), size <= 8.
  std::uint64_t take_word(std::size_t size) {
    at += size;
    if (at >= kWordBytes) return word_ending_at(bytes, at);
    return short_word(bytes.first(at));
  }

  // REQUIRES: size <= left().
  Bytes take(std::size_t size) {
    at += size;
    return bytes.subspan(at - size, size);
  }
};

// The output, filled from its end. Bytes [0, room()) are not filled yet.
class Output {
 public:
  explicit Output(MutableBytes bytes) : bytes_(bytes), room_(bytes.size()) {}

  std::size_t room() const { return room_; }
  std::size_t written() const { return bytes_.size() - room_; }

  // Puts the last `size` bytes of a word. REQUIRES: size <= room(), size <= 8.
  void put_word(std::uint64_t word, std::size_t size) {
    const auto bytes = bytes_of_word(word);
    if (room_ >= kWordBytes) {
      copy_bytes(bytes, bytes_.subspan(room_ - kWordBytes, kWordBytes));
    } else {
      copy_bytes(Bytes(bytes).last(size), bytes_.subspan(room_ - size, size));
    }
    room_ -= size;
  }

  // Puts the next `size` bytes of an input. REQUIRES: size <= room(), size <= input.left().
  void put_from(Input& input, std::size_t size) {
    constexpr std::size_t kPair = 2 * kWordBytes;
    const Bytes piece = input.take(size);
    if (size <= kPair && input.at >= kPair && room_ >= kPair) {
      copy_bytes(input.bytes.subspan(input.at - kPair, kPair), bytes_.subspan(room_ - kPair, kPair));
    } else {
      copy_bytes(piece, bytes_.subspan(room_ - size, size));
    }
    room_ -= size;
  }

 private:
  MutableBytes bytes_;
  std::size_t room_;
};

}  // namespace recordfs::riegeli::transposed
