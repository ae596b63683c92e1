#include "core/database/runs.h"

#include <algorithm>
#include <map>
#include <queue>

#include "core/database/entry.h"

namespace recordfs::database {
namespace {

std::vector<Run> in_file_order(std::vector<const TableFile*> tables) {
  std::map<std::uint32_t, Run> by_level;
  std::ranges::sort(tables, {}, &TableFile::number);
  for (const TableFile* table : tables) by_level[table->level].tables.push_back(table);
  std::vector<Run> runs;
  runs.reserve(by_level.size());
  for (auto& [level, run] : by_level) runs.push_back(std::move(run));
  return runs;
}

// The tag of the last key of a table that ends before that key: the highest sequence number, and the type of a deletion
// of a range. If keys have timestamps, the timestamp is the highest too.
constexpr std::uint64_t kTagOfEnd = UINT64_MAX << 8 | kTypeDeleteRange;

}  // namespace

bool ends_short_of(const TableFile& table, const KeyOrder& order, Bytes user_key) {
  const Bytes largest = as_bytes(table.largest);
  if (tag_of(largest) != kTagOfEnd) return false;
  const Bytes last = user_key_of(largest);
  return order.timestamp(last).value_or(UINT64_MAX) == UINT64_MAX && std::ranges::equal(order.user_key(last), user_key);
}

std::size_t Run::first_from(const KeyOrder& order, Bytes stored_key) const {
  const auto first = std::ranges::partition_point(tables, [&](const TableFile* table) {
    return order.is_before(user_key_of(as_bytes(table->largest)), stored_key) ||
           ends_short_of(*table, order, order.user_key(stored_key));
  });
  return static_cast<std::size_t>(first - tables.begin());
}

std::vector<Run> runs_of(std::vector<const TableFile*> tables, const KeyOrder& order) {
  if (!order.is_known()) return in_file_order(std::move(tables));
  std::ranges::sort(tables, [&](const TableFile* a, const TableFile* b) {
    const auto by_key = compare_internal(order, as_bytes(a->smallest), as_bytes(b->smallest));
    return by_key != 0 ? by_key < 0 : a->number < b->number;
  });
  std::vector<Run> runs;
  const auto ends_later = [&](std::size_t a, std::size_t b) {
    return compare_internal(order, as_bytes(runs[a].tables.back()->largest), as_bytes(runs[b].tables.back()->largest)) >
           0;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(ends_later)> by_end(ends_later);
  for (const TableFile* table : tables) {
    const bool fits = !by_end.empty() && compare_internal(order, as_bytes(runs[by_end.top()].tables.back()->largest),
                                                          as_bytes(table->smallest)) < 0;
    if (!fits) runs.emplace_back();
    const std::size_t run = fits ? by_end.top() : runs.size() - 1;
    if (fits) by_end.pop();
    runs[run].tables.push_back(table);
    by_end.push(run);
  }
  return runs;
}

}  // namespace recordfs::database
