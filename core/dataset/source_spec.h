// SourceSpec: what the words of a command line, of a mount or of Python name, or a manifest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/shard_list.h"

namespace recordfs {

// The FILE argument that means standard input. A file of that name is ./-.
inline constexpr std::string_view kStandardInput = "-";

struct SourceSpec {
  enum class Kind : std::uint8_t {
    kContainer,  // one file, which may not exist
    kDataSet,    // the shards that a pattern, several words or a manifest name
    kDatabase,   // a directory of a LevelDB or RocksDB database
    kDirectory,  // another directory: a data set of the containers in it, or what a mount mirrors
  };

  std::vector<std::string> words{};
  std::string manifest{};  // a text file that names the shards; empty: the words do

  // Returns what is named. May block. Thread-safe.
  Kind kind() const;
  // Returns the shards: of a directory its containers, and of a container only that. Fails as list_shards() and
  // read_manifest(). May block. Thread-safe.
  Result<ShardList> shards() const;
};

}  // namespace recordfs
