#include "core/formats/part_names.h"

#include <cstdint>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

namespace recordfs {

const Message* message_in(const Value& value) {
  const auto* const members = std::get_if<Value::Object>(&value.is);
  const bool ends_with_one = members != nullptr && !members->empty() && members->back().name.empty();
  return std::get_if<Message>(ends_with_one ? &members->back().value.is : &value.is);
}

std::string name_in_list(const Value& element, std::size_t index, bool at_top) {
  constexpr int kDigitsAtTop = 6;
  if (const auto* members = std::get_if<Value::Object>(&element.is);
      members != nullptr && message_in(element) != nullptr) {
    if (const auto* number = std::get_if<std::uint64_t>(&members->front().value.is)) return std::to_string(*number);
  }
  return fmt::format("{:0{}}", index, at_top ? kDigitsAtTop : 1);
}

std::string line_of(const Value& value) {
  const auto line = [](const auto& content) -> std::string {
    using Content = std::remove_cvref_t<decltype(content)>;
    if constexpr (std::is_arithmetic_v<Content>) return fmt::format("{}\n", content);
    if constexpr (std::is_same_v<Content, std::string>) {
      return content.empty() || content.ends_with('\n') ? content : content + '\n';
    }
    return {};
  };
  return std::visit(line, value.is);
}

}  // namespace recordfs
