#include "core/base/percent_encoding.h"

#include <charconv>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {

std::string percent_encoded(std::string_view key, std::string_view also) {
  std::string name;
  while (!key.empty()) {
    const std::size_t length = utf8_character(key);
    const bool stands_for_itself =
        length > 0 && !is_control(key) && key[0] != '%' && also.find(key[0]) == std::string_view::npos;
    if (stands_for_itself) {
      name += key.substr(0, length);
      key.remove_prefix(length);
    } else {
      name += fmt::format("%{:02X}", static_cast<unsigned char>(key[0]));
      key.remove_prefix(1);
    }
  }
  return name;
}

std::optional<std::string> percent_decoded(std::string_view name, std::string_view also) {
  std::string key;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      key += name[i];
      continue;
    }
    unsigned char byte = 0;
    const std::string_view digits = name.substr(i + 1, 2);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() < 2 || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
    key += static_cast<char>(byte);
    i += 2;
  }
  if (percent_encoded(key, also) != name) return std::nullopt;
  return key;
}

}  // namespace recordfs
