// Reads intact simple chunks together (Riegeli specification, "Simple chunk with records").
#pragma once

#include "core/base/limits.h"
#include "core/formats/bulk.h"

namespace recordfs::riegeli {

class SimpleBulkReader final : public BulkReader {
 public:
  explicit SimpleBulkReader(const Limits& limits) : limits_(limits) {}

  ChunkRun plan(ChunkKey at, Bytes window) const override;
  RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const override;
  RecordBatch read_at(const RequestContext& context, ChunkKey at, Slice window) const override;

 private:
  // Reads chunks that begin before `end`.
  RecordBatch read_until(const RequestContext& context, ChunkKey at, Position end, Slice window) const;

  const Limits limits_;
};

}  // namespace recordfs::riegeli
