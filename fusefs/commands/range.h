// Ranges of records on a command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/store/selection.h"

namespace recordfs {

using Range = std::variant<OrdinalRange, RecordAddress>;

// Parses "42", "-1", "10:20", ":100", "-5:", ":", "@OFFSET/INDEX" or "SHARD:@OFFSET/INDEX". Returns nullopt if it is
// invalid.
std::optional<Range> parse_range(const std::string& text);

// Returns "not a range: 5-10 (a range is 42, 10:20, ...)". `remark` follows the word.
std::string not_a_range(const std::string& word, std::string_view remark = {});

// The description of RANGE in --help, without a final newline.
extern const std::string_view kRangeHelp;

}  // namespace recordfs
