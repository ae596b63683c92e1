// SourceSpec: what the words of a command line, of a mount or of Python name, or a manifest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/shard_list.h"
#include "core/store/selection.h"

namespace recordfs {

struct StoreResources;

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
  // Hints that the source is opened next, and that a record is read: the first of a range unless that counts from the
  // end, or the one at an address. Does nothing for manifests. Thread-safe.
  void expect(const std::variant<OrdinalRange, RecordAddress>& range, const StoreResources& resources) const;
};

}  // namespace recordfs
