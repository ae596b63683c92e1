// The argument RANGE.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fusefs/commands/range.h"

namespace CLI {
class App;
}

namespace recordfs {

// A range as written.
struct NamedRange {
  Range range;
  bool is_one = false;  // one record that must exist: 42, but not 42:43
};

// The description of RANGE in --help, without a final newline.
extern const std::string_view kRangeHelp;

// Declare [RANGE] or [RANGE...] on `app`. The result must outlive the parsing.
void declare_range(CLI::App& app, std::optional<NamedRange>& range);
void declare_ranges(CLI::App& app, std::vector<NamedRange>& ranges);

}  // namespace recordfs
