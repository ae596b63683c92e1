// Reads many blocks of a table with an index together.
#pragma once

#include "core/base/limits.h"
#include "core/formats/bulk.h"
#include "core/formats/leveldb_table/survey.h"

namespace recordfs::leveldb_table {

// For tables whose blocks have checksums, and no dictionary.
class TableBulkReader final : public BulkReader {
 public:
  // `survey` must outlive the reader.
  TableBulkReader(const Survey& survey, const Limits& limits);

  bool plans_records() const override { return false; }
  ChunkRun plan(ChunkKey at, Bytes window) const override;
  RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const override;

 private:
  const Survey& survey_;
  const Limits limits_;
};

}  // namespace recordfs::leveldb_table
