// Encodes records in a random order as rows of another format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "core/dataset/random_order.h"
#include "core/dataset/recent_shards.h"
#include "core/dataset/set_reader.h"
#include "core/export/record_rows.h"

namespace recordfs {

class RandomRows {
 public:
  // Takes the rows of a record, in order: one, or none if it cannot be encoded. Returns false to stop.
  using Take = std::function<bool(const RowBytes& rows)>;
  // Reports why a record that can be read is no row.
  using ReportUnfit = std::function<void(const RecordStore& store, const Error& why)>;

  // `reader` and `options` must outlive the object.
  RandomRows(SetReader& reader, const RowOptions& options, Take take, ReportUnfit report_unfit)
      : reader_(reader),
        options_(options),
        take_(std::move(take)),
        report_unfit_(std::move(report_unfit)),
        shards_(reader, [&options](SetMember member) { return RecordRows::open(std::move(member), options); }) {}

  // Reads the records as read_in_random_order() does. Returns whether all were taken.
  bool read(const RandomOptions& order, Reporter& reporter);

 private:
  std::shared_ptr<const FieldProjection> fields_of(const PlacedRecord& place);
  RenderedRecord render(const RequestContext& context, const PlacedRecord& place, const Chunk& chunk,
                        std::uint64_t index);
  bool take(std::uint64_t ordinal);

  SetReader& reader_;
  const RowOptions& options_;
  const Take take_;
  const ReportUnfit report_unfit_;
  RecentShards<Result<std::shared_ptr<const RecordRows>>> shards_;
  std::mutex mutex_;                        // guards the following
  std::map<std::uint64_t, RowBytes> rows_;  // by ordinal, until they are taken
  std::set<std::uint64_t> unfit_;           // ordinals of records that are no rows, until they are reported
  std::set<std::size_t> whole_shards_;      // whose chunks have all fields, whatever is wanted, so that a cache helps
};

}  // namespace recordfs
