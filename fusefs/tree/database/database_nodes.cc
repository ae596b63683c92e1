#include "fusefs/tree/database/database_nodes.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace recordfs {

DatabaseNodes::Identity DatabaseNodes::identity_of(const DatabaseNode& node) {
  return {node.kind,
          node.is_in_families,
          node.is_readable,
          node.family,
          node.version.sequence,
          node.version.operation,
          node.size,
          node.key};
}

std::uint64_t DatabaseNodes::reference(DatabaseNode node) {
  const auto added = std::make_shared<const DatabaseNode>(std::move(node));
  const std::lock_guard lock(mutex_);
  if (const auto known = numbers_.find(identity_of(*added)); known != numbers_.end()) {
    ++rows_.at(known->second).lookups;
    return known->second;
  }
  // Allocated first: if that fails, neither map has an entry.
  decltype(numbers_) named{{identity_of(*added), next_}};
  rows_.emplace(next_, Row{added, 1});
  numbers_.merge(named);
  return next_++;
}

DatabaseNodes::Pointer DatabaseNodes::find(std::uint64_t number) const {
  const std::shared_lock lock(mutex_);
  const auto row = rows_.find(number);
  return row == rows_.end() ? nullptr : row->second.node;
}

bool DatabaseNodes::forget(std::uint64_t number, std::uint64_t lookups) {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(number);
  if (found == rows_.end()) return false;
  Row& row = found->second;
  row.lookups -= std::min(lookups, row.lookups);
  if (row.lookups > 0) return false;
  numbers_.erase(identity_of(*row.node));
  rows_.erase(found);
  return true;
}

std::size_t DatabaseNodes::size() const {
  const std::shared_lock lock(mutex_);
  return rows_.size();
}

}  // namespace recordfs
