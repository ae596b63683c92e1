// Fields of records that have one value, for names and keys.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/base/bytes.h"
#include "core/decoding/json_filter.h"

namespace recordfs {

// The text of each field that has one value: a text or bytes as they are, and a number in the shortest form that is
// exact. Not thread-safe.
class SingleValues final : public ScalarSink {
 public:
  explicit SingleValues(std::size_t fields) : values_(fields) {}

  void take(std::size_t field, const Scalar& value) override {
    Value& known = values_[field];
    if (known.count++ == 0) std::visit([&](const auto& scalar) { known.text = text_of(scalar); }, value);
  }
  // Returns null if there is no value, or several.
  const std::string* find(std::size_t field) const {
    const Value& value = values_[field];
    return value.count == 1 && value.text ? &*value.text : nullptr;
  }
  std::size_t count(std::size_t field) const { return values_[field].count; }

 private:
  struct Value {
    std::size_t count = 0;
    std::optional<std::string> text{};
  };

  static std::optional<std::string> text_of(std::monostate) { return std::nullopt; }
  static std::string text_of(std::string_view text) { return std::string(text); }
  static std::string text_of(const EnumValue& value) { return std::string(value.text); }
  static std::string text_of(Bytes bytes) { return std::string(as_text(bytes)); }
  template <class Number>
  static std::string text_of(Number number) {
    return fmt::format("{}", number);
  }

  std::vector<Value> values_;
};

}  // namespace recordfs
