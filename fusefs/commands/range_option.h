// RANGE on a command line.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fusefs/commands/range.h"

namespace CLI {
class App;
}

namespace recordfs {

// A range as somebody wrote it.
struct NamedRange {
  Range range;
  bool is_one = false;  // it names one record, which has to be there: 42, and not 42:43
};

// What --help says of a RANGE, without a final newline.
extern const std::string_view kRangeHelp;

// Declares [RANGE] on `app`, or [RANGE...]; what it is parsed into has to outlive the parsing.
void declare_range(CLI::App& app, std::optional<NamedRange>& range);
void declare_ranges(CLI::App& app, std::vector<NamedRange>& ranges);

}  // namespace recordfs
