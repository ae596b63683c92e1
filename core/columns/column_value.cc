#include "core/columns/column_value.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "core/decoding/exact_number.h"
#include "core/hash/digest.h"

namespace recordfs {
namespace {

// Returns a number as it is compared; nullopt for other values.
std::optional<ExactNumber> number_in(const ColumnValue& value) {
  return std::visit(
      [](const auto& is) -> std::optional<ExactNumber> {
        using Type = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<Type, bool> || std::is_same_v<Type, ColumnText>) {
          return std::nullopt;
        } else if constexpr (std::is_same_v<Type, float>) {
          return static_cast<double>(is);
        } else {
          return is;
        }
      },
      value.is);
}

std::weak_ordering compare_numbers(const ExactNumber& one, const ExactNumber& other) {
  const auto order = compare_exactly(one, other);
  if (order == std::partial_ordering::less) return std::weak_ordering::less;
  if (order == std::partial_ordering::greater) return std::weak_ordering::greater;
  if (order == std::partial_ordering::equivalent) return std::weak_ordering::equivalent;
  const auto is_nan = [](const ExactNumber& number) {
    const auto* const is = std::get_if<double>(&number);
    return is != nullptr && std::isnan(*is) ? 1 : 0;
  };
  return is_nan(one) <=> is_nan(other);
}

// A cut text follows the text that its front is.
std::weak_ordering compare_texts(const ColumnText& one, const ColumnText& other) {
  if (const auto order = static_cast<int>(one.are_bytes) <=> static_cast<int>(other.are_bytes); order != 0)
    return order;
  if (const int order = one.front.compare(other.front); order != 0) return order <=> 0;
  if (const auto order = one.size <=> other.size; order != 0) return order;
  return one.hash.compare(other.hash) <=> 0;
}

int rank_of(const ColumnValue& value) {
  if (std::holds_alternative<bool>(value.is)) return 0;
  return std::holds_alternative<ColumnText>(value.is) ? 2 : 1;
}

// Returns the number without the sign of zero.
template <class Float>
Float unsigned_zero(Float number) {
  return number == 0 ? Float{0} : number;
}

}  // namespace

ColumnText ColumnText::of(Bytes text, bool are_bytes, bool is_identified) {
  ColumnText made{.size = text.size(), .are_bytes = are_bytes};
  made.front = as_text(text.first(std::min(text.size(), kMost)));
  if (!made.is_cut() || !is_identified) return made;
  Digester digester(DigestId::kSha256);
  digester.append(text);
  made.hash = as_text(digester.finish().view());
  return made;
}

std::weak_ordering compare(const ColumnValue& one, const ColumnValue& other) {
  if (one.is.index() == other.is.index()) {
    if (const auto* const integer = std::get_if<std::int64_t>(&one.is)) {
      return *integer <=> std::get<std::int64_t>(other.is);
    }
    if (const auto* const text = std::get_if<ColumnText>(&one.is)) {
      return compare_texts(*text, std::get<ColumnText>(other.is));
    }
    if (const auto* const is = std::get_if<bool>(&one.is)) {
      return static_cast<int>(*is) <=> static_cast<int>(std::get<bool>(other.is));
    }
  }
  if (const auto order = rank_of(one) <=> rank_of(other); order != 0) return order;
  return compare_numbers(*number_in(one), *number_in(other));
}

ColumnValue column_value(const Scalar& scalar, bool is_identified) {
  return std::visit(
      [is_identified](const auto& is) -> ColumnValue {
        using Type = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<Type, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<Type, std::string_view>) {
          return {ColumnText::of(as_bytes(is), false, is_identified)};
        } else if constexpr (std::is_same_v<Type, Bytes>) {
          return {ColumnText::of(is, true, is_identified)};
        } else if constexpr (std::is_same_v<Type, EnumValue>) {
          return {ColumnText::of(as_bytes(is.text), false, is_identified)};
        } else if constexpr (std::is_floating_point_v<Type>) {
          return {unsigned_zero(is)};
        } else {
          return {is};
        }
      },
      scalar);
}

}  // namespace recordfs
