// Ranges of records on a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// Ordinals [begin, end). Negative ones count from the end of the container. Without `end`, to the end.
struct OrdinalRange {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end{};
  bool operator==(const OrdinalRange&) const = default;
};

// The record with this index in the chunk that begins at a byte.
struct RecordAddress {
  Position begin = 0;
  std::uint64_t index = 0;
  bool operator==(const RecordAddress&) const = default;
};

using Range = std::variant<OrdinalRange, RecordAddress>;

// Parses "42", "-1", "10:20", ":100", "-5:", ":" or "@OFFSET/INDEX". Returns nullopt if it is invalid. 42 means
// 42:43.
std::optional<Range> parse_range(const std::string& text);

// A range with begin <= end. `end` may exceed the number of records if they were not counted.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
};

// Resolves negative bounds, and waits for the scan if there are any. Fails as RecordStore::record_totals does.
Result<Span> resolve(const OrdinalRange& range, const RecordStore& store);

}  // namespace recordfs
