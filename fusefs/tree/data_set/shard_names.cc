#include "fusefs/tree/data_set/shard_names.h"

#include <utility>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::size_t kLongestName = 255;

std::string_view file_name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_usable(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= kLongestName;
}

}  // namespace

void ShardNames::add(std::string_view path) {
  const std::string_view own = file_name_of(path);
  if (is_usable(own) && by_name_.emplace(own, size_).second) {
    ++size_;
  } else {
    add_own(free_name(own));
  }
}

void ShardNames::add_copy(std::string_view path) {
  const std::string_view own = file_name_of(path);
  add_own(is_usable(own) && !by_name_.contains(own) ? std::string(own) : free_name(own));
}

std::string ShardNames::free_name(std::string_view own) const {
  const std::string stem =
      is_usable(own) ? std::string(own.substr(0, kLongestName - 16)) : fmt::format("shard-{}", size_);
  std::string name = stem;
  for (int copy = 2; by_name_.contains(name); ++copy) name = fmt::format("{}~{}", stem, copy);
  return name;
}

void ShardNames::add_own(std::string name) {
  by_name_.emplace(owned_.emplace(size_, std::move(name)).first->second, size_);
  ++size_;
}

std::string_view ShardNames::name(std::size_t shard, std::string_view path) const {
  const auto found = owned_.find(shard);
  return found == owned_.end() ? file_name_of(path) : found->second;
}

std::optional<std::size_t> ShardNames::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

}  // namespace recordfs
