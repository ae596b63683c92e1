#include "core/decoding/json_text.h"

#include <array>
#include <cstddef>

#include "core/base/utf8.h"
#include "core/decoding/base64.h"

namespace recordfs {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// The bytes that need no escape in a string, including all non-ASCII bytes.
constexpr std::array<bool, 256> plain_bytes() {
  std::array<bool, 256> plain{};
  for (std::size_t i = 0x20; i < plain.size(); ++i) plain[i] = i != '"' && i != '\\';
  return plain;
}
constexpr auto kIsPlain = plain_bytes();

bool is_plain(char c) { return kIsPlain[static_cast<unsigned char>(c)]; }

std::uint64_t escaped_size(char character) {
  switch (character) {
    case '\b':
    case '\f':
    case '\n':
    case '\r':
    case '\t':
    case '"':
    case '\\': return 2;
    default: return is_plain(character) ? 1 : 6;
  }
}

void append_escape(std::string& text, char character) {
  text += '\\';
  switch (character) {
    case '\b': text += 'b'; return;
    case '\f': text += 'f'; return;
    case '\n': text += 'n'; return;
    case '\r': text += 'r'; return;
    case '\t': text += 't'; return;
    case '"':
    case '\\': text += character; return;
    default: break;
  }
  text += "u00";
  text += kHexDigits[static_cast<unsigned char>(character) >> 4];
  text += kHexDigits[static_cast<unsigned char>(character) & 0xF];
}

}  // namespace

void append_json_string(std::string& text, std::string_view value) {
  text += '"';
  for (std::size_t at = 0; at < value.size();) {
    std::size_t end = at;
    while (end < value.size() && is_plain(value[end])) ++end;
    text.append(value, at, end - at);
    if (end < value.size()) append_escape(text, value[end++]);
    at = end;
  }
  text += '"';
}

std::uint64_t json_string_size(std::string_view value) {
  std::uint64_t size = 2;
  for (const char character : value) size += escaped_size(character);
  return size;
}

void append_json_base64(std::string& text, Bytes bytes) {
  text += '"';
  append_base64(text, bytes);
  text += '"';
}

void append_json_bytes(std::string& text, std::string_view name, std::string_view instead, Bytes bytes) {
  const bool is_text = is_utf8(as_text(bytes));
  text += '"';
  text += is_text ? name : instead;
  text += "\":";
  if (is_text) {
    append_json_string(text, as_text(bytes));
  } else {
    append_json_base64(text, bytes);
  }
}

}  // namespace recordfs
