// Reads intact chunks of records together.
#pragma once

#include "core/base/limits.h"
#include "core/formats/bulk.h"
#include "core/formats/recordio/current/transform.h"

namespace recordfs::recordio {

class CurrentBulkReader final : public BulkReader {
 public:
  // REQUIRES: the transform is supported.
  CurrentBulkReader(std::uint64_t file_size, Transform transform, const Limits& limits);

  bool plans_records() const override { return false; }
  ChunkRun plan(ChunkKey at, Bytes window) const override;
  RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const override;

 private:
  bool ends_file(Position at, Bytes window) const { return window.size() >= file_size_ - at; }

  const std::uint64_t file_size_;
  const Transform transform_;
  const Limits limits_;
};

}  // namespace recordfs::recordio
