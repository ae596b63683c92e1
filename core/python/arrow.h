// Records as a stream of Arrow's C interface: https://arrow.apache.org/docs/format/CStreamInterface.html
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "core/columns/row_schema.h"
#include "core/dataset/record_stream.h"
#include "core/python/opened_set.h"

namespace recordfs::python {

// Returns a capsule "arrow_array_stream" with the columns ordinal, shard, offset and index of int64, and data of
// large_binary; with a schema, its struct instead of data. What is damaged is skipped if `skips`, and otherwise ends
// the stream with an error; a record that cannot be decoded is a null then. Any thread may read the stream, with or
// without the GIL.
pybind11::capsule arrow_stream(std::shared_ptr<OpenedSet> set, RecordStream::Options options, bool skips,
                               std::shared_ptr<const RowSchema> schema);

}  // namespace recordfs::python
