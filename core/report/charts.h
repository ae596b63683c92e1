// The charts of a report, as SVG in HTML. Each is a <figure> with a caption, a legend if it needs one, and its numbers
// in a table. Colors come from the page's style sheet, by class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/report/file_report.h"

namespace recordfs {

// Returns where the chunks of each codec are in the file, and damage.
std::string file_map(const FileReport& report);

// Returns decoded bytes per stored byte along the file.
std::string compression_chart(const FileReport& report);

// Returns the number of records by size.
std::string size_chart(const SizeHistogram& sizes);

// Returns the number of each value, of `all` values. REQUIRES: there are values.
struct CountedLabel {
  std::string label;
  std::uint64_t count = 0;
};
std::string value_chart(const std::vector<CountedLabel>& values, std::uint64_t all);

// Returns whether compression_chart() has something to show.
bool is_compressed(const FileReport& report);

}  // namespace recordfs
