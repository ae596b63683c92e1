// A reproducible random order of the numbers from 0 to n - 1, which needs no table.
#pragma once

#include <array>
#include <cstdint>

namespace recordfs {

// A keyed bijection of [0, size). A balanced Feistel network permutes the numbers of an even number of bits, at least
// 8; values that are not below `size` are permuted again until they are ("cycle walking": Black and Rogaway, "Ciphers
// with Arbitrary Finite Domains", CT-RSA 2002). The network is less than four times as large as `size`, or 256. Round
// keys come from the seed by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), and each round mixes with its finalizer.
// The order of a seed and size is the same on each machine and in each release. Not for secrets. Immutable,
// thread-safe.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t seed);

  std::uint64_t size() const { return size_; }
  // Returns the number at a place of the order. REQUIRES: place < size().
  std::uint64_t at(std::uint64_t place) const;
  // Returns the place of a number, the inverse of at(). REQUIRES: number < size().
  std::uint64_t place_of(std::uint64_t number) const;

 private:
  static constexpr int kRounds = 8;

  std::uint64_t encrypt(std::uint64_t value) const;
  std::uint64_t decrypt(std::uint64_t value) const;

  std::uint64_t size_;
  int half_bits_;
  std::uint64_t half_mask_;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace recordfs
