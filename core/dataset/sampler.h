// A random sample of records without replacement.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/dataset/permutation.h"

namespace recordfs {

// Returns `count` of the numbers [0, size), or all if there are fewer, each subset as likely as any other: the first
// `count` of a Permutation, in ascending order. Up to kMostSorted of them are sorted in memory, 8 MiB. More are found
// by asking the inverse permutation for each number, which costs time in proportion to `size`. Not thread-safe.
class Sampler {
 public:
  static constexpr std::uint64_t kMostSorted = std::uint64_t{1} << 20;

  // Throws std::bad_alloc. `most_sorted` is for tests.
  Sampler(std::uint64_t size, std::uint64_t count, std::uint64_t seed, std::uint64_t most_sorted = kMostSorted);

  // Returns how many numbers next() returns in all.
  std::uint64_t count() const { return count_; }
  // Returns the next number; nullopt after the last one.
  std::optional<std::uint64_t> next();

 private:
  const Permutation permutation_;
  const std::uint64_t count_;
  std::uint64_t returned_ = 0;
  std::uint64_t next_number_ = 0;      // without sorted_
  std::vector<std::uint64_t> sorted_;  // empty if count_ is too large
};

}  // namespace recordfs
