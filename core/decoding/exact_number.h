// Numbers that are compared without rounding.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace recordfs {

using ExactNumber = std::variant<std::int64_t, std::uint64_t, double>;

// Compares two numbers by their values, whatever their types: 2^63 as a double is more than 2^63 - 1 as an integer. NaN
// is unordered. Any thread.
std::partial_ordering compare_exactly(const ExactNumber& one, const ExactNumber& other);

// Parses "-3", "18446744073709551615", "0.5" or "1e5": digits alone are an integer, all else is the nearest double.
// Returns nullopt if it is invalid, or an integer out of range. Any thread.
std::optional<ExactNumber> parse_exact_number(std::string_view text);

}  // namespace recordfs
