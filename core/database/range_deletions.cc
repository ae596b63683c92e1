#include "core/database/range_deletions.h"

#include <algorithm>

namespace recordfs::database {

void RangeDeletions::finish(const KeyOrder& order) {
  order_ = order;
  if (!order.is_known()) deletions_.clear();
  std::erase_if(deletions_, [&](const auto& deletion) {
    return !order.is_before(as_bytes(deletion.begin), as_bytes(deletion.end));
  });
  std::ranges::sort(
      deletions_, [&](const auto& a, const auto& b) { return order.is_before(as_bytes(a.begin), as_bytes(b.begin)); });
  last_.resize(deletions_.size());
  if (!deletions_.empty()) find_last(0, deletions_.size());
}

// Recursion is as deep as the logarithm of the number of deletions.
std::size_t RangeDeletions::find_last(std::size_t low, std::size_t high) {
  const std::size_t root = middle_of(low, high);
  std::size_t last = root;
  const auto consider = [&](std::size_t other) {
    if (order_.is_before(as_bytes(deletions_[last].end), as_bytes(deletions_[other].end))) last = other;
  };
  if (low < root) consider(find_last(low, root));
  if (root + 1 < high) consider(find_last(root + 1, high));
  return last_[root] = last;
}

std::pair<std::string, std::string> RangeDeletions::bounds() const {
  return {deletions_.front().begin, deletions_[last_[middle_of(0, deletions_.size())]].end};
}

std::optional<std::uint64_t> RangeDeletions::newest_over(Bytes key, std::uint64_t at) const {
  std::optional<std::uint64_t> newest;
  for_each_over(key, [&](const RangeDeletion& deletion) {
    if (deletion.sequence <= at) newest = std::max(newest.value_or(0), deletion.sequence);
  });
  return newest;
}

std::size_t RangeDeletions::memory() const {
  std::size_t bytes = deletions_.capacity() * (sizeof(RangeDeletion) + sizeof(std::size_t));
  for (const RangeDeletion& deletion : deletions_) bytes += deletion.begin.size() + deletion.end.size();
  return bytes;
}

}  // namespace recordfs::database
