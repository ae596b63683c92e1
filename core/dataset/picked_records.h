// Reads records of a data set by their ordinals, in any order. Those of one chunk are decoded together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/dataset/data_set.h"
#include "core/store/executor.h"

namespace recordfs {

// Where a record of a data set is.
struct PlacedRecord {
  std::size_t shard = 0;
  std::shared_ptr<const RecordStore> store;
  IndexedChunk indexed;
  std::uint64_t base = 0;   // ordinal in the data set of the shard's first record
  std::uint64_t index = 0;  // in the chunk
};

// Finds a record. Waits until the shards before it are counted. Fails with kNotFound if there are too few records, and
// as DataSet::locate(), DataSet::open() and ChunkIndex::find(). Thread-safe.
Result<PlacedRecord> place_record(const RequestContext& context, DataSet& set, std::uint64_t ordinal);

// Records in the order in which they were asked for.
struct PickedRecords {
  // A record that cannot be read.
  struct Failure {
    Error why;
    std::size_t shard = 0;
    Position end = 0;           // of the region that begins at why.position
    std::uint64_t ordinal = 0;  // in the shard
  };
  std::vector<Bytes> records{};               // of a failure: empty
  std::map<std::size_t, Failure> failures{};  // by place in `records`
  std::vector<Slice> copies{};                // hold the records
  std::vector<std::uint32_t> copy_of{};       // the one that holds a record, by its place
};

// Returns the records in the given order: all of them, or as many of the first as have `most_bytes` together, but at
// least one. Works in the order of the shards and chunks, on the threads of `executor` and the calling one. Copies the
// records, so that they keep no chunk. Fails like place_record(), and with kOutOfMemory. Thread-safe. REQUIRES: not
// called from a task of the executor.
Result<PickedRecords> pick_records(const RequestContext& context, DataSet& set, Executor& executor,
                                   std::span<const std::uint64_t> ordinals, std::uint64_t most_bytes);

}  // namespace recordfs
