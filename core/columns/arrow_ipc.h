// Writes Arrow's IPC files and streams: https://arrow.apache.org/docs/format/Columnar.html, "Serialization and
// Interprocess Communication (IPC)".
#pragma once

#include <memory>

#include "core/columns/arrow_interface.h"
#include "core/columns/table_writer.h"

namespace recordfs {

// Begin a file, which readers map into memory and seek in, or a stream, which they read once. `root` is a struct; the
// table has its fields as columns. Values are not compressed unless the options say kZstd. Write nothing before the
// first row or finish(). `sink` must outlive the writer. Fail with kUnsupported if `root` has a type that is not listed
// at arrow_field_of(), or if the codec is another one or missing in this build.
Result<std::unique_ptr<TableWriter>> open_arrow_file(ByteSink& sink, const ArrowField& root,
                                                     const TableOptions& options = {});
Result<std::unique_ptr<TableWriter>> open_arrow_stream(ByteSink& sink, const ArrowField& root,
                                                       const TableOptions& options = {});

}  // namespace recordfs
