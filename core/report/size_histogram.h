// Counts of record sizes on a logarithmic scale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// Keeps 16 counters for each power of two, so a size is known to 6 %. Not thread-safe.
class SizeHistogram {
 public:
  void add(std::uint64_t size);
  void add(const SizeHistogram& other);

  std::uint64_t count() const { return count_; }
  // REQUIRES for the next four: count() > 0.
  std::uint64_t smallest() const { return smallest_; }
  std::uint64_t largest() const { return largest_; }
  double mean() const { return sum_ / static_cast<double>(count_); }
  // Returns a size that `share` of all sizes do not exceed, rounded up by at most 6 %. REQUIRES: 0 < share <= 1.
  std::uint64_t quantile(double share) const;

  // Sizes from `first` to `last`, both included.
  struct Bar {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t count = 0;
  };
  // Returns consecutive bars from the smallest size to the largest, at most 65: each a power of two, or a quarter
  // or a sixteenth of one if the sizes are close together.
  std::vector<Bar> bars() const;

 private:
  static constexpr std::size_t kBuckets = 976;

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t smallest_ = UINT64_MAX;
  std::uint64_t largest_ = 0;
  double sum_ = 0;
};

// Returns the sizes of all records that can be read, by `threads`. Fails as read_part() does.
Result<SizeHistogram> sizes_of(const RecordStore& store, unsigned threads);

// Returns the bars as characters of eight heights: blocks, or ASCII. A bar with a count is never blank.
std::string block_line(const std::vector<SizeHistogram::Bar>& bars, bool as_blocks = true);

}  // namespace recordfs
