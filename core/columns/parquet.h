// Writes Parquet files: https://parquet.apache.org/docs/file-format/
#pragma once

#include <memory>

#include "core/columns/arrow_interface.h"
#include "core/columns/table_writer.h"

namespace recordfs {

// Begins a file. `root` is a struct; the table has its fields as columns. Pages are compressed with zstd, or as the
// options say: kZstd, kSnappy, kGzip, kBrotli or kNone. Without zstd in this build, the default is Snappy or none.
// Writes nothing before the first row or finish(). `sink` must outlive the writer. Fails with kUnsupported for other
// codecs and as ParquetSchema::of().
Result<std::unique_ptr<TableWriter>> open_parquet(ByteSink& sink, const ArrowField& root,
                                                  const TableOptions& options = {});

}  // namespace recordfs
