// The statistics of columns as a table for people.
#pragma once

#include <cstddef>
#include <string>

#include "core/columns/column_statistics.h"
#include "core/columns/statistics_json.h"

namespace recordfs {

// Returns a row for each column, and the ten most frequent values of each that repeats some.
std::string columns_table(const ColumnStatistics& columns);

// Returns a value on one line, of at most about `most` bytes. A text is not quoted, and a cut one ends with dots.
std::string shown_value(const ColumnValue& value, std::size_t most);

}  // namespace recordfs
