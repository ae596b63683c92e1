// ShardNames: the names of the directories of a data set's shards.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace recordfs {

// The name of a shard is its file name, with "~2", "~3" and so on if another shard has it. Not thread-safe.
class ShardNames {
 public:
  // Names the next shard. `path` must outlive this.
  void add(std::string_view path);
  // The same for a path that need not outlive the call.
  void add_copy(std::string_view path);

  // Returns the name of a shard, as long as this lives. REQUIRES: it was added.
  std::string_view name(std::size_t shard, std::string_view path) const;
  // Returns the shard of this name.
  std::optional<std::size_t> find(std::string_view name) const;

 private:
  std::string free_name(std::string_view own) const;
  void add_own(std::string name);

  std::size_t size_ = 0;
  std::map<std::size_t, std::string> owned_;                   // names that are no part of a lasting path
  std::unordered_map<std::string_view, std::size_t> by_name_;  // keys are in paths or in owned_
};

}  // namespace recordfs
