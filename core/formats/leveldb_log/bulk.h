// Reads the intact frames of an uncompressed log together. FORMAT.md, "Records".
#pragma once

#include <utility>

#include "core/base/limits.h"
#include "core/formats/bulk.h"
#include "core/formats/leveldb_log/wire.h"

namespace recordfs::leveldb_log {

// For files whose fragments have 7-byte headers.
class LogBulkReader final : public BulkReader {
 public:
  LogBulkReader(const Wire& wire, const Limits& limits) : wire_(wire), limits_(limits) {}

  ChunkRun plan(ChunkKey at, Bytes window) const override;
  RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const override {
    return read_at(context, planned.from, std::move(window));
  }
  RecordBatch read_at(const RequestContext& context, ChunkKey at, Slice window) const override;

 private:
  const Wire wire_;
  const Limits limits_;
};

}  // namespace recordfs::leveldb_log
