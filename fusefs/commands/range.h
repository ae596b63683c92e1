// Ranges of records on a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/record_store.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace recordfs {

// Ordinals [begin, end). Negative ones count from the end of the container. Without `end`, to the end.
struct OrdinalRange {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end{};
  bool is_one = false;  // only the record `begin`, which must exist: 42, but not 42:43
  bool operator==(const OrdinalRange&) const = default;
};

// The record with this index in the chunk that begins at a byte.
struct RecordAddress {
  Position begin = 0;
  std::uint64_t index = 0;
  bool operator==(const RecordAddress&) const = default;
};

using Range = std::variant<OrdinalRange, RecordAddress>;

// Parses "42", "-1", "10:20", ":100", "-5:", ":" or "@OFFSET/INDEX". Returns nullopt if it is invalid.
std::optional<Range> parse_range(const std::string& text);

// The description of RANGE in --help, without a final newline.
extern const std::string_view kRangeHelp;

// Declare the argument RANGE or RANGE... on `app`. The result must outlive the parsing.
CLI::Option* declare_range(CLI::App& app, std::optional<Range>& range,
                           std::string text = "which records (default: all)");
void declare_ranges(CLI::App& app, std::vector<Range>& ranges);

// A range with begin <= end. `end` may exceed the number of records if they were not counted.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
  bool is_empty() const { return begin == end; }
};

// Resolves negative bounds, and waits for the scan if there are any. Fails as ChunkIndex::totals does.
Result<Span> resolve(const OrdinalRange& range, const RecordStore& store);

}  // namespace recordfs
