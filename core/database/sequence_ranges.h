// A set of sequence numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace recordfs::database {

// Immutable after finish(), then readable from any thread.
class SequenceRanges {
 public:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;  // part of it
  };

  void add(Range range) { ranges_.push_back(range); }
  // Called once, after the last add().
  void finish() { std::ranges::sort(ranges_, {}, &Range::last); }

  bool empty() const { return ranges_.empty(); }
  // REQUIRES: ranges do not overlap.
  bool contains(std::uint64_t sequence) const {
    const auto found = std::ranges::lower_bound(ranges_, sequence, {}, &Range::last);
    return found != ranges_.end() && found->first <= sequence;
  }

 private:
  std::vector<Range> ranges_;  // after finish(): ascending
};

}  // namespace recordfs::database
