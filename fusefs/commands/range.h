// Ranges of records, as commands take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/store/record_store.h"

namespace recordfs {

// Ordinals [begin, end), each counted from the container's end where it is negative; without an end, to the end.
struct OrdinalRange {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end{};
  bool operator==(const OrdinalRange&) const = default;
};

// The record at an index of the chunk that begins at a byte.
struct RecordAddress {
  Position begin = 0;
  std::uint64_t index = 0;
  bool operator==(const RecordAddress&) const = default;
};

using Range = std::variant<OrdinalRange, RecordAddress>;

// "42", "-1", "10:20", ":100", "-5:", ":" or "@OFFSET/INDEX". nullopt for anything else. 42 is [42, 43).
std::optional<Range> parse_range(const std::string& text);

// A range with its ends known: begin <= end. `end` may lie behind the last record where nobody had to count them.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
};

// Waits for the scan where an end is counted from the container's end. Fails as RecordStore::record_totals does.
Result<Span> resolve(const OrdinalRange& range, const RecordStore& store);

}  // namespace recordfs
