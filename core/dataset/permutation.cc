#include "core/dataset/permutation.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace recordfs {
namespace {

constexpr int kLeastHalfBits = 4;  // few values permute too regularly
constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;

// The finalizer of SplitMix64.
constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

int half_bits_for(std::uint64_t size) {
  const int bits = size < 2 ? 0 : static_cast<int>(std::bit_width(size - 1));
  return std::max(kLeastHalfBits, (bits + 1) / 2);
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed)
    : size_(size), half_bits_(half_bits_for(size)), half_mask_((std::uint64_t{1} << half_bits_) - 1) {
  for (std::uint64_t& key : keys_) {
    seed += kGoldenGamma;
    key = mix(seed);
  }
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & half_mask_;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mix(right + key) & half_mask_);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::decrypt(std::uint64_t value) const {
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & half_mask_;
  for (std::size_t round = keys_.size(); round-- > 0;) {
    const std::uint64_t previous = right ^ (mix(left + keys_[round]) & half_mask_);
    right = left;
    left = previous;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::at(std::uint64_t place) const {
  assert(place < size_);
  std::uint64_t value = encrypt(place);
  while (value >= size_) value = encrypt(value);
  return value;
}

std::uint64_t Permutation::place_of(std::uint64_t number) const {
  assert(number < size_);
  std::uint64_t value = decrypt(number);
  while (value >= size_) value = decrypt(value);
  return value;
}

}  // namespace recordfs
