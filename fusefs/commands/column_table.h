// The statistics of columns as JSON, and as a table for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/columns/column_statistics.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

// Returns an object for each column, with the counts of its values, most frequent first.
JsonObject::List columns_list(const ColumnStatistics& columns);

// Returns a row for each column, and the ten most frequent values of each that repeats some.
std::string columns_table(const ColumnStatistics& columns);

// Returns the counts, most frequent first. `counts` must outlive the result.
using FrequentValues = std::vector<std::pair<const ColumnValue*, std::uint64_t>>;
FrequentValues frequent_values(const ColumnSummary::Counts& counts);

// Returns a value on one line, of at most about `most` bytes. A text is not quoted, and a cut one ends with dots.
std::string shown_value(const ColumnValue& value, std::size_t most);

}  // namespace recordfs
