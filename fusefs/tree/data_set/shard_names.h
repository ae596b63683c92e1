// ShardNames: the names of the directories of a data set's shards.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace recordfs {

// The name of a shard is its file name, with "~2", "~3" and so on if another shard has it. Not thread-safe.
class ShardNames {
 public:
  // Names the next shard.
  void add(std::string_view path);
  // Returns the name of a shard, as long as this lives. REQUIRES: it was added.
  std::string_view name(std::size_t shard) const { return names_[shard]; }
  // Returns the shard of this name.
  std::optional<std::size_t> find(std::string_view name) const;

 private:
  std::deque<std::string> names_;                              // references stay valid
  std::unordered_map<std::string_view, std::size_t> by_name_;  // keys are in names_
};

}  // namespace recordfs
