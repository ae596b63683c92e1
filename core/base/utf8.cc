#include "core/base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

// Returns the length that a first byte declares; 0 if no character begins with it.
constexpr std::size_t announced(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

// Returns how many bytes at the beginning are ASCII, in whole words: up to seven fewer than there are.
std::size_t ascii_front(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  for (std::uint64_t word = 0; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  return at;
}

}  // namespace

std::size_t utf8_character(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = announced(first);
  if (length == 0 || length > text.size()) return 0;
  if (!std::ranges::all_of(text.substr(1, length - 1), is_continuation)) return 0;
  if (length < 3) return length;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second >= 0xA0;
  const bool is_beyond = first == 0xF4 && second >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t ascii = ascii_front(text);
    text.remove_prefix(ascii);
    if (text.empty()) return true;
    const std::size_t length = utf8_character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_control(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7F) return true;
  return first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
}

std::string printable(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) return std::string(text);
  std::string line;
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length > 0 && !is_control(text)) {
      line += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    }
  }
  return line;
}

}  // namespace recordfs
