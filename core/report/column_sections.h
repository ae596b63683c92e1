// The sections of a report about the columns of records.
#pragma once

#include <string>

#include "core/columns/column_statistics.h"
#include "core/report/thumbnails.h"
#include "core/search/undecoded_records.h"

namespace recordfs {

// Each returns a section as HTML, or nothing if there is nothing to show. `undecoded`: the records whose columns are
// not counted.
std::string columns_section(const ColumnStatistics& columns, const UndecodedRecords::Summary& undecoded);
std::string images_section(const Thumbnails& thumbnails);

}  // namespace recordfs
