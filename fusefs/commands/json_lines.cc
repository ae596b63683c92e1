#include "fusefs/commands/json_lines.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "core/base/utf8.h"
#include "fusefs/commands/base64.h"

namespace recordfs {
namespace {

// What stands for a character of ASCII in a string of JSON: nothing where it stands for itself.
std::string_view escape_of(unsigned char character) {
  static const auto kEscapes = [] {
    std::array<std::string, 128> escapes;
    for (std::size_t i = 0; i < 0x20; ++i) escapes[i] = fmt::format("\\u{:04x}", i);
    escapes['\b'] = "\\b";
    escapes['\f'] = "\\f";
    escapes['\n'] = "\\n";
    escapes['\r'] = "\\r";
    escapes['\t'] = "\\t";
    escapes['"'] = "\\\"";
    escapes['\\'] = "\\\\";
    return escapes;
  }();
  return kEscapes[character];
}

// Whether a character stands for itself; what is no ASCII does.
constexpr bool is_plain(char c) {
  const auto character = static_cast<unsigned char>(c);
  return character >= 0x20 && character != '"' && character != '\\';
}

}  // namespace

void append_json_string(std::string& text, std::string_view value) {
  text += '"';
  for (std::size_t at = 0; at < value.size();) {
    std::size_t end = at;
    while (end < value.size() && is_plain(value[end])) ++end;
    text.append(value, at, end - at);
    if (end < value.size()) text += escape_of(static_cast<unsigned char>(value[end++]));
    at = end;
  }
  text += '"';
}

void append_json_name(std::string& text, const RecordName& name) {
  if (const auto* ordinal = std::get_if<std::uint64_t>(&name)) {
    text += fmt::format("\"ordinal\":{}", *ordinal);
  } else {
    const auto& address = std::get<RecordAddress>(name);
    text += fmt::format("\"chunk\":{},\"index\":{}", address.begin, address.index);
  }
}

void append_json_line(std::string& text, const RecordName& name, Bytes record) {
  text += '{';
  append_json_name(text, name);
  text += fmt::format(",\"size\":{},", record.size());
  if (is_utf8(as_text(record))) {
    text += "\"text\":";
    append_json_string(text, as_text(record));
  } else {
    text += "\"base64\":\"";
    append_base64(text, record);
    text += '"';
  }
  text += "}\n";
}

}  // namespace recordfs
