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

std::string percent_decoded(std::string_view name) {
  std::string bytes;
  for (std::size_t i = 0; i < name.size(); ++i) {
    unsigned char byte = 0;
    const std::string_view digits = name.substr(i + 1, 2);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool is_encoded = name[i] == '%' && digits.size() == 2 && parsed.ptr == digits.data() + digits.size();
    bytes += is_encoded ? static_cast<char>(byte) : name[i];
    if (is_encoded) i += 2;
  }
  return bytes;
}

std::optional<std::string> percent_decoded(std::string_view name, std::string_view also) {
  std::string key = percent_decoded(name);
  if (percent_encoded(key, also) != name) return std::nullopt;
  return key;
}

}  // namespace recordfs
