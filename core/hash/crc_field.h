// Arithmetic of reflected CRCs, for searches that need the CRC of many ranges of the same bytes.
#pragma once

#include <array>
#include <cstdint>

namespace recordfs {

inline constexpr std::uint32_t kCrc32Polynomial = 0xedb88320;
inline constexpr std::uint32_t kCrc32cPolynomial = 0x82f63b78;

// Polynomials modulo the CRC's, with the highest power of x in the lowest bit.
class CrcField {
 public:
  static constexpr std::uint32_t kOne = 0x80000000;

  explicit constexpr CrcField(std::uint32_t polynomial) : polynomial_(polynomial) {
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      steps_[i] = i;
      for (int bit = 0; bit < 8; ++bit) steps_[i] = times_x(steps_[i]);
    }
  }

  constexpr std::uint32_t times_x(std::uint32_t value) const {
    return (value >> 1) ^ (polynomial_ & all_ones_if(value & 1));
  }
  // Returns the product with x^8. The state of a CRC after another byte is times_byte(state ^ byte).
  constexpr std::uint32_t times_byte(std::uint32_t value) const { return (value >> 8) ^ steps_[value & 0xff]; }
  // Takes a step for each power of x up to the highest in `a`.
  constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) const {
    std::uint32_t sum = 0;
    for (; a != 0; a <<= 1, b = times_x(b)) sum ^= b & all_ones_if(a >> 31);
    return sum;
  }

 private:
  // Returns 0 for 0, and all ones for 1. A branch on random bits is often predicted wrongly.
  static constexpr std::uint32_t all_ones_if(std::uint32_t bit) { return ~bit + 1; }

  alignas(64) std::array<std::uint32_t, 256> steps_{};
  std::uint32_t polynomial_;
};

inline constexpr CrcField kCrc32Field(kCrc32Polynomial);
inline constexpr CrcField kCrc32cField(kCrc32cPolynomial);

}  // namespace recordfs
