// Reads records of a data set by their ordinals, in any order. Those of one chunk are decoded together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/dataset/data_set.h"
#include "core/formats/field_projection.h"
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

// A record, or what a caller makes of it.
struct RenderedRecord {
  Slice bytes{};
  std::optional<Error> failure{};  // why it cannot be read; `bytes` may then be the beginning
  bool is_last = false;            // after a failure, the caller takes no further record
};

// Returns what is made of a record of a decoded chunk. `place` is that of another record of the chunk. Called on any
// thread. May throw std::bad_alloc.
using RenderRecord = std::function<RenderedRecord(const RequestContext& context, const PlacedRecord& place,
                                                  const Chunk& chunk, std::uint64_t index)>;
// Returns the bytes of the record.
RenderedRecord read_record(const RequestContext& context, const PlacedRecord& place, const Chunk& chunk,
                           std::uint64_t index);

// Returns the fields that the records of a place's shard need to have, which may then lack others; null: all. Called on
// any thread.
using FieldsOfPlace = std::function<std::shared_ptr<const FieldProjection>(const PlacedRecord& place)>;

// What is made of records.
struct PickUse {
  RenderRecord render = read_record;
  FieldsOfPlace fields_of{};  // none: all fields. Chunks without some fields are not cached
};

// Records in the order in which they were asked for.
struct PickedRecords {
  // A record that cannot be read.
  struct Failure {
    Error why;
    PlacedRecord place;
    bool is_last = false;  // as in RenderedRecord
  };
  // A record that cannot be found, or that there was no memory for.
  struct Stop {
    Error why;
    std::uint64_t ordinal = 0;
  };
  std::vector<Bytes> records{};
  std::map<std::size_t, Failure> failures{};  // by place in `records`
  std::vector<Slice> copies{};                // hold the records
  std::vector<std::uint32_t> copy_of{};       // the one that holds a record, by its place
  std::optional<Stop> stop{};                 // `records` are the first ones that were read
};

// Returns the records in the given order: all of them, or as many of the first as have `most_bytes` together, but at
// least one. Works in the order of the shards and chunks, on the threads of `executor` and the calling one. Copies the
// records, so that they keep no chunk. Stops as place_record() fails, and with kOutOfMemory. Logs nothing. Thread-safe.
// REQUIRES: not called from a task of the executor.
PickedRecords pick_records(const RequestContext& context, DataSet& set, Executor& executor,
                           std::span<const std::uint64_t> ordinals, std::uint64_t most_bytes, const PickUse& use = {});

}  // namespace recordfs
