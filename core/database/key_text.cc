#include "core/database/key_text.h"

#include <charconv>
#include <system_error>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::size_t kEscapeSize = 4;  // \xHH

std::optional<char> byte_of(std::string_view digits) {
  unsigned value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  return static_cast<char>(value);
}

}  // namespace

std::string escaped_key(Bytes key) {
  std::string text;
  for (std::string_view rest = as_text(key); !rest.empty();) {
    const std::size_t plain = rest.find('\\');
    text += printable(rest.substr(0, plain));
    if (plain == std::string_view::npos) break;
    text += "\\\\";
    rest.remove_prefix(plain + 1);
  }
  return text;
}

std::optional<std::string> unescaped_key(std::string_view text) {
  std::string key;
  while (!text.empty()) {
    if (text[0] != '\\') {
      key += text[0];
      text.remove_prefix(1);
    } else if (text.starts_with("\\\\")) {
      key += '\\';
      text.remove_prefix(2);
    } else {
      if (!text.starts_with("\\x") || text.size() < kEscapeSize) return std::nullopt;
      const auto byte = byte_of(text.substr(2, 2));
      if (!byte) return std::nullopt;
      key += *byte;
      text.remove_prefix(kEscapeSize);
    }
  }
  return key;
}

}  // namespace recordfs
