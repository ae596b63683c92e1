// Encodes records in a random order as rows of another format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "core/base/bounded_lru.h"
#include "fusefs/commands/random_order.h"
#include "fusefs/commands/record_rows.h"
#include "fusefs/commands/set_reader.h"

namespace recordfs {

class RandomRows {
 public:
  // Takes the rows of a record, in order: one, or none if it cannot be encoded. Returns false to stop.
  using Take = std::function<bool(const RowBytes& rows)>;

  // `reader` and `options` must outlive the object.
  RandomRows(SetReader& reader, const RowOptions& options, Take take)
      : reader_(reader), options_(options), take_(std::move(take)) {}

  // Reads the records as read_in_random_order() does. Returns whether all were taken.
  bool read(const RandomOptions& order, CommandContext& context);

 private:
  static constexpr std::size_t kRecentShards = 16;
  using Shard = Result<std::shared_ptr<const RecordRows>>;

  // Thread-safe.
  Shard shard_of(const PlacedRecord& place);
  RenderedRecord render(const RequestContext& context, const PlacedRecord& place, const Chunk& chunk,
                        std::uint64_t index);
  bool take(std::uint64_t ordinal);

  SetReader& reader_;
  const RowOptions& options_;
  const Take take_;
  BoundedLru<std::size_t, Shard> shards_{kRecentShards};
  std::mutex mutex_;
  std::map<std::uint64_t, RowBytes> rows_;  // by ordinal, until they are taken; guarded by mutex_
};

}  // namespace recordfs
