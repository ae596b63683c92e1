// From the words of a command line to a data set that is mounted as one (-o join).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/shard_list.h"
#include "core/store/record_store.h"
#include "fusefs/follow/new_files.h"
#include "fusefs/options.h"
#include "fusefs/shard_files.h"
#include "fusefs/tree/data_set/data_set_shards.h"

namespace recordfs {

struct DataSetFiles {
  DataSetSource source{};
  std::shared_ptr<ShardOpener> opener{};  // which source.open uses
  // Paths that include all shards: the files themselves, or their directories if there are many. With -o follow also
  // the directories in which shards may appear. Absolute, without symbolic links.
  std::vector<std::string> places{};
  std::unique_ptr<NewFiles> new_files{};  // with -o follow; otherwise null
};

// Paths of a data set.
struct SetPlaces {
  std::vector<std::string> read;    // include all files that may be opened
  std::vector<std::string> listed;  // directories whose names say which files there are
};

// Returns what join_sources() will access, without opening a file of the set. Fails like join_sources().
Result<SetPlaces> places_of_set(const Options& options, const std::optional<ShardList>& manifest);

// Names the shards that options.sources mean, or with -o manifest those of `manifest`, and examines each file without
// opening it, except that it tries the first few until one is a container or a saved index says that it is one. Logs
// missing and surplus shards. Sets services.address_bits, with -o follow for the shards that may be appended too.
//
// A shard is opened later by its path, and must then be the same file, with the size and the modification time that it
// has now. Otherwise, and if it cannot be opened for good, DataSetSource::Open fails with kDamage and logs that once.
//
// Fails with kIo if there is no shard, or none of those tried can be opened; the detail is a whole message. Both
// arguments must outlive the result.
Result<DataSetFiles> join_sources(const Options& options, StoreResources& services,
                                  std::optional<ShardList> manifest = {});

}  // namespace recordfs
