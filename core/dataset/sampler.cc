#include "core/dataset/sampler.h"

#include <algorithm>
#include <cstddef>

namespace recordfs {

Sampler::Sampler(std::uint64_t size, std::uint64_t count, std::uint64_t seed, std::uint64_t most_sorted)
    : permutation_(size, seed), count_(std::min(size, count)) {
  if (count_ > most_sorted) return;
  sorted_.reserve(static_cast<std::size_t>(count_));
  for (std::uint64_t place = 0; place < count_; ++place) sorted_.push_back(permutation_.at(place));
  std::ranges::sort(sorted_);
}

std::optional<std::uint64_t> Sampler::next() {
  if (returned_ == count_) return std::nullopt;
  if (!sorted_.empty()) return sorted_[static_cast<std::size_t>(returned_++)];
  while (permutation_.place_of(next_number_) >= count_) ++next_number_;
  ++returned_;
  return next_number_++;
}

}  // namespace recordfs
