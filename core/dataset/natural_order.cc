#include "core/dataset/natural_order.h"

#include <cstddef>

#include "core/base/parse_number.h"

namespace recordfs {
namespace {

// Removes a run of digits from the front. Returns it without leading zeros, and their number.
struct Number {
  std::string_view digits;
  std::size_t zeros;
};

Number take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::size_t zeros = 0;
  while (zeros + 1 < end && text[zeros] == '0') ++zeros;
  const Number number{text.substr(zeros, end - zeros), zeros};
  text.remove_prefix(end);
  return number;
}

}  // namespace

bool is_before(std::string_view one, std::string_view other) {
  int by_zeros = 0;  // the first difference in zeros
  while (!one.empty() && !other.empty()) {
    if (is_digit(one.front()) && is_digit(other.front())) {
      const Number a = take_number(one);
      const Number b = take_number(other);
      if (a.digits.size() != b.digits.size()) return a.digits.size() < b.digits.size();
      if (const int order = a.digits.compare(b.digits); order != 0) return order < 0;
      if (by_zeros == 0 && a.zeros != b.zeros) by_zeros = a.zeros < b.zeros ? -1 : 1;
      continue;
    }
    if (one.front() != other.front()) {
      return static_cast<unsigned char>(one.front()) < static_cast<unsigned char>(other.front());
    }
    one.remove_prefix(1);
    other.remove_prefix(1);
  }
  return one.empty() && other.empty() ? by_zeros < 0 : one.empty();
}

}  // namespace recordfs
