// The missing shards of a data set as ranges, for messages, tables, and commands that handle files one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/dataset/shard_list.h"

namespace recordfs {

// Consecutive missing shards of one set.
struct MissingShards {
  std::size_t first = 0;  // index of the first shard
  std::size_t count = 0;
  std::string path;       // of the only one, or "dir/train-?????-of-00128.tfrecord"
  std::string numbers{};  // "00021-00117"; empty: there is only one
  std::string instead{};  // as in Shard

  // Returns "PATH: this shard is missing", or "PATH: shards 00021-00117 (97) are missing".
  std::string message() const;
};

// Returns the missing ones of `count` shards, in order. `shard` returns the one with an index.
std::vector<MissingShards> missing_shards(std::size_t count,
                                          const std::function<const Shard&(std::size_t index)>& shard);

// Returns what is missing of a list.
std::vector<MissingShards> missing_shards(const ShardList& list);
// A shard of a data set, or several missing ones.
struct NamedFile {
  std::string path;
  std::optional<MissingShards> missing{};
  bool is_surplus = false;       // exists, but the data set has fewer shards
  std::size_t bytes_in_set = 0;  // of the path: Shard::path_in_set()
};

// Returns the shards of a list, with its surplus ones after them.
std::vector<NamedFile> files_of(const ShardList& list);

// Returns a line for each of the first 100 ranges of missing shards, then for each of the first 100 surplus files, and
// how many more there are. `hides_names`: without the paths.
std::vector<std::string> gap_messages(const ShardList& list, bool hides_names = false);

}  // namespace recordfs
