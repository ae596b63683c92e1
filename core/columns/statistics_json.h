// The statistics of columns as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/columns/column_statistics.h"
#include "core/decoding/json_writer.h"

namespace recordfs {

// Returns an object for each column, with the counts of its values, most frequent first.
JsonObject::List columns_list(const ColumnStatistics& columns);

// Returns the counts, most frequent first. `counts` must outlive the result.
using FrequentValues = std::vector<std::pair<const ColumnValue*, std::uint64_t>>;
FrequentValues frequent_values(const ColumnSummary::Counts& counts);

// Returns the text without a character that was cut.
std::string_view whole_characters(const ColumnText& text);

// Returns the mean number of values of a column with lists, in the records that have one.
std::optional<double> mean_length(const ColumnSummary& column);

}  // namespace recordfs
