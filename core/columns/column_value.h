// A value of a column, in bounded memory.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/bytes.h"
#include "core/decoding/json_filter.h"

namespace recordfs {

// A text, or bytes. Of a long one, the first bytes.
struct ColumnText {
  static constexpr std::size_t kMost = 128;  // bytes that are kept

  // `is_identified`: a long text differs from others with the same front, by a hash.
  static ColumnText of(Bytes text, bool are_bytes, bool is_identified);

  bool is_cut() const { return size > front.size(); }

  std::string front{};
  std::uint64_t size = 0;  // bytes of the whole
  std::string hash{};      // of a long one
  bool are_bytes = false;
};

// Numbers are compared without rounding, and -0.0 is 0.0. NaN equals itself, and follows all other numbers. Texts and
// bytes are compared byte by byte, as far as they are kept; then shorter ones come first. Values of different types are
// ordered by their types.
struct ColumnValue {
  std::variant<bool, std::int64_t, std::uint64_t, float, double, ColumnText> is{};
};
std::weak_ordering compare(const ColumnValue& one, const ColumnValue& other);

// For sorted containers.
struct IsLessColumnValue {
  bool operator()(const ColumnValue& one, const ColumnValue& other) const { return compare(one, other) < 0; }
};

// Returns the value of a scalar that is not null. Throws std::bad_alloc.
ColumnValue column_value(const Scalar& scalar, bool is_identified);

}  // namespace recordfs
