// Floats as doubles that are written in as few digits.
#pragma once

#include <array>
#include <charconv>
#include <cmath>

namespace recordfs {

// Returns the double with the float's shortest digits: 0.1 instead of 0.10000000149011612. Any thread.
inline double with_its_digits(float number) {
  if (!std::isfinite(number)) return static_cast<double>(number);
  std::array<char, 32> digits;
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  double same = 0;
  std::from_chars(digits.data(), written.ptr, same);
  return same;
}

}  // namespace recordfs
