// The files of a data set that is mounted as one: examines them, and opens them later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/storage.h"
#include "core/dataset/data_set.h"
#include "core/dataset/shard_list.h"
#include "core/store/record_store.h"
#include "fusefs/options.h"
#include "fusefs/tree/file_status.h"

namespace recordfs {

// A shard as it was examined.
struct ShardFile {
  std::string path;              // absolute
  SourceId id{};                 // without a source: not known before the file is opened
  std::uint64_t filesystem = 0;  // as Source::filesystem()
};

// The files of a data set, which were examined without opening them.
struct ExaminedShards {
  std::vector<ShardFile> files;       // by shard
  std::vector<Ownership> ownerships;  // by shard
  std::uint64_t stored = 0;           // bytes of all files
  std::set<std::string> paths;        // of the first few files, without symbolic links
  std::set<std::string> directories;  // of all files, likewise

  // Returns paths that include all files and `others`: themselves, or directories above if there are many.
  std::vector<std::string> places(const std::vector<std::string>& others) const;
};

// Examines files. Makes their paths absolute, as RealPaths does: the last part is the shard's name. Sets `is_missing`.
ExaminedShards examine(std::vector<Shard>& shards, const Options& options);

// Opens shards, if they are still as they were examined. Thread-safe.
class ShardOpener {
 public:
  // Both must outlive this and the stores.
  ShardOpener(const Options& options, StoreResources& services) : options_(options), services_(services) {}

  // Adds files, whose numbers follow those of the others.
  void add(std::vector<ShardFile> files);
  // Fails as DataSetSource::Open. Logs a failure for good once. REQUIRES: shard < the number of files.
  Result<std::shared_ptr<const RecordStore>> open(const RequestContext& context, std::size_t shard);
  // Returns the shard's counts that a saved index has, if the file is still as it was examined. As KnownCounts.
  std::optional<ShardCounts> known_counts(const RequestContext& context, std::size_t shard, ScanDetail detail) const;
  // Returns the shard's name in the log.
  std::string shown(std::size_t shard) const;

 private:
  const ShardFile& file(std::size_t shard) const;
  std::optional<Error> failure_of(std::size_t shard) const;
  Result<std::shared_ptr<const RecordStore>> open_now(const RequestContext& context, std::size_t shard);
  Result<std::shared_ptr<const Source>> open_same(const RequestContext& context, std::size_t shard) const;

  const Options& options_;
  StoreResources& services_;
  mutable std::mutex mutex_;                           // guards the following
  std::deque<ShardFile> files_;                        // references stay valid
  std::map<std::size_t, Error> failures_;              // that do not pass
  mutable std::map<std::size_t, SourceId> first_ids_;  // as opened first, of files whose id was not known
};

}  // namespace recordfs
