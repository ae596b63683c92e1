// Reads intact buckets together that have neither metadata nor descriptors.
#pragma once

#include "core/base/limits.h"
#include "core/formats/bulk.h"

namespace recordfs::proio {

class BucketBulkReader final : public BulkReader {
 public:
  explicit BucketBulkReader(const Limits& limits);

  bool plans_records() const override { return false; }
  ChunkRun plan(ChunkKey at, Bytes window) const override;
  RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const override;
  RecordBatch read_at(const RequestContext& context, ChunkKey at, Slice window) const override;

 private:
  // Reads at most `most` chunks.
  RecordBatch take(const RequestContext& context, ChunkKey at, std::uint64_t most, Slice window) const;

  const Limits limits_;  // of a batch
};

}  // namespace recordfs::proio
