#include "fusefs/tree/data_set/shard_names.h"

#include <utility>

#include <fmt/format.h>

namespace recordfs {

void ShardNames::add(std::string_view path) {
  constexpr std::size_t kLongestName = 255;
  const std::string_view own = path.substr(path.rfind('/') + 1);
  const bool is_usable = !own.empty() && own != "." && own != ".." && own.size() <= kLongestName;
  std::string name(own);
  if (!is_usable || by_name_.contains(own)) {
    const std::string stem =
        is_usable ? std::string(own.substr(0, kLongestName - 16)) : fmt::format("shard-{}", names_.size());
    name = stem;
    for (int copy = 2; by_name_.contains(name); ++copy) name = fmt::format("{}~{}", stem, copy);
  }
  const std::string& added = names_.emplace_back(std::move(name));
  by_name_.emplace(added, names_.size() - 1);
}

std::optional<std::size_t> ShardNames::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

}  // namespace recordfs
