#include "core/decoding/exact_number.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>
#include <utility>

namespace recordfs {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;

std::partial_ordering reversed(std::partial_ordering order) {
  if (order == std::partial_ordering::less) return std::partial_ordering::greater;
  if (order == std::partial_ordering::greater) return std::partial_ordering::less;
  return order;
}

template <class One, class Other>
std::partial_ordering compare_integers(One one, Other other) {
  if (std::cmp_less(one, other)) return std::partial_ordering::less;
  return std::cmp_equal(one, other) ? std::partial_ordering::equivalent : std::partial_ordering::greater;
}

template <class Integer>
std::partial_ordering compare_to_double(Integer integer, double number) {
  if (std::isnan(number)) return std::partial_ordering::unordered;
  if (number >= 2 * kTwo63) return std::partial_ordering::less;
  if (number < -kTwo63) return std::partial_ordering::greater;
  const double below = std::floor(number);
  const auto order = below < kTwo63 ? compare_integers(integer, static_cast<std::int64_t>(below))
                                    : compare_integers(integer, static_cast<std::uint64_t>(below));
  const bool is_less = order == std::partial_ordering::equivalent && below < number;
  return is_less ? std::partial_ordering::less : order;
}

template <class Number>
std::optional<ExactNumber> parse(std::string_view text) {
  Number number{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_all = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_all ? std::optional<ExactNumber>(number) : std::nullopt;
}

}  // namespace

std::partial_ordering compare_exactly(const ExactNumber& one, const ExactNumber& other) {
  return std::visit(
      [](auto a, auto b) -> std::partial_ordering {
        constexpr bool kFirst = std::is_same_v<decltype(a), double>;
        constexpr bool kSecond = std::is_same_v<decltype(b), double>;
        if constexpr (kFirst && kSecond) {
          return a <=> b;
        } else if constexpr (kFirst) {
          return reversed(compare_to_double(b, a));
        } else if constexpr (kSecond) {
          return compare_to_double(a, b);
        } else {
          return compare_integers(a, b);
        }
      },
      one, other);
}

std::optional<ExactNumber> parse_exact_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_number = !digits.empty() && (digits.front() == '.' || (digits.front() >= '0' && digits.front() <= '9'));
  if (!is_number) return std::nullopt;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return parse<double>(text);
  if (auto number = parse<std::int64_t>(text)) return number;
  return parse<std::uint64_t>(text);
}

}  // namespace recordfs
