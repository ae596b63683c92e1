// The records of a data set that define its columns.
#pragma once

#include "core/columns/row_schema.h"
#include "core/dataset/data_set.h"

namespace recordfs {

// Sets `shards`, `open`, and the functions of `sources` that return records: the first 1,024 readable ones of the set,
// or 64 MiB of them, and all later ones too if `scans`; of other shards with other metadata, as many of each, and 64
// MiB of all together. These functions fail with errors that may pass, because with other records the columns would be
// others, and with kInterrupted if the request is cancelled. `set` must outlive `sources`.
void define_by_records(DataSet& set, bool scans, RowSources& sources);

}  // namespace recordfs
