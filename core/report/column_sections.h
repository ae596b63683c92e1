// The sections of a report about the columns of records.
#pragma once

#include <cstdint>
#include <string>

#include "core/columns/column_statistics.h"
#include "core/report/thumbnails.h"

namespace recordfs {

// Each returns a section as HTML, or nothing if there is nothing to show. `undecoded`: the number of records whose
// columns are not counted.
std::string columns_section(const ColumnStatistics& columns, std::uint64_t undecoded);
std::string images_section(const Thumbnails& thumbnails);

}  // namespace recordfs
