#include "fusefs/tree/mirror/number_ranges.h"

#include <algorithm>
#include <iterator>

namespace recordfs {

NumberRanges::NumberRanges(const InodeMap& inode_map) {
  ranges_.emplace(0, Range{kStaticEnd, {}});  // the mount's own root
  for (const auto& [begin, end] : inode_map.taken()) ranges_.insert_or_assign(begin, Range{end, {}});
}

std::optional<std::uint64_t> NumberRanges::first_free(std::uint64_t from, std::uint64_t length) const {
  auto at = ranges_.upper_bound(from);
  if (at != ranges_.begin()) from = std::max(from, std::prev(at)->second.end);
  for (; at != ranges_.end() && at->first - from < length; ++at) from = at->second.end;
  if (from > kValuesOfAKind || length > kValuesOfAKind - from) return std::nullopt;
  return from;
}

std::optional<std::uint64_t> NumberRanges::take(std::uint64_t container, std::uint64_t wanted, std::uint64_t length) {
  const std::lock_guard lock(mutex_);
  if (const auto has = begins_.find(container); has != begins_.end()) return has->second;
  auto begin = first_free(wanted, length);
  if (!begin) begin = first_free(0, length);
  if (!begin) return std::nullopt;
  ranges_.emplace(*begin, Range{*begin + length, container});
  begins_.emplace(container, *begin);
  return begin;
}

void NumberRanges::give_back(std::uint64_t container) {
  const std::lock_guard lock(mutex_);
  const auto has = begins_.find(container);
  if (has == begins_.end()) return;
  ranges_.erase(has->second);
  begins_.erase(has);
}

std::optional<NumberRanges::RangeOwner> NumberRanges::find(std::uint64_t value) const {
  const std::lock_guard lock(mutex_);
  const auto after = ranges_.upper_bound(value);
  if (after == ranges_.begin()) return std::nullopt;
  const auto& [begin, range] = *std::prev(after);
  if (value >= range.end || !range.container) return std::nullopt;
  return RangeOwner{*range.container, begin};
}

}  // namespace recordfs
