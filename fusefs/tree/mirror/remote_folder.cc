#include "fusefs/tree/mirror/remote_folder.h"

#include <utility>

namespace recordfs {

bool RemoteFolder::add(RemoteEntry entry) {
  const auto known = by_name_.find(entry.name);
  if (known != by_name_.end()) {
    RemoteEntry& before = entries_[known->second];
    if (entry.is_directory && !before.is_directory) {
      before.is_directory = true;
      before.size = 0;
    }
    return false;
  }
  constexpr std::uint64_t kOverhead = sizeof(RemoteEntry) + 64;
  bytes_ += kOverhead + entry.name.size();
  entries_.push_back(std::move(entry));
  by_name_.emplace(entries_.back().name, entries_.size() - 1);
  return true;
}

const RemoteEntry* RemoteFolder::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

}  // namespace recordfs
