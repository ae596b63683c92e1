// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace recordfs {

// Returns whether a character is a decimal digit.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Parses a text that is a number as a whole. Returns nullopt if it is invalid or too large.
template <class Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, base);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace recordfs
