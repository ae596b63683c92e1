// Strings of JSON, of which most characters need no escape.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/decoding/json_writer.h"

namespace recordfs {
namespace {

constexpr std::string_view kHexOfEscape = "0123456789abcdef";

constexpr unsigned char kDelete = 0x7F;
constexpr unsigned char kLatin1 = 0xC2;   // begins U+0080 to U+00BF, whose first ones are the C1 controls
constexpr unsigned char kFirstC1 = 0x80;  // the second byte of U+0080 ...
constexpr unsigned char kAfterC1 = 0xA0;  // ... and of U+00A0

// The bytes that need no escape in a string, including all non-ASCII bytes except kLatin1.
constexpr std::array<bool, 256> plain_bytes() {
  std::array<bool, 256> plain{};
  for (std::size_t i = 0x20; i < plain.size(); ++i) plain[i] = i != '"' && i != '\\' && i != kDelete && i != kLatin1;
  return plain;
}
constexpr auto kIsPlain = plain_bytes();

bool is_plain(char c) { return kIsPlain[static_cast<unsigned char>(c)]; }

// Returns the number of plain characters at the begin of `text`. Examines eight at a time while there is nothing else.
std::size_t plain_characters(std::string_view text) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  constexpr std::uint64_t kHighBits = 0x80 * kEach;
  const auto has_less = [](std::uint64_t word, std::uint64_t than) {
    return (word - than * kEach) & ~word & kHighBits;
  };
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof(word));
    const std::uint64_t other = has_less(word, 0x20) | has_less(word ^ ('"' * kEach), 1) |
                                has_less(word ^ ('\\' * kEach), 1) | has_less(word ^ (kDelete * kEach), 1) |
                                has_less(word ^ (kLatin1 * kEach), 1);
    if (other != 0) break;
  }
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

bool is_latin1(std::string_view text) { return static_cast<unsigned char>(text[0]) == kLatin1; }

// Returns whether the text begins with a C1 control, which terminals may obey.
bool begins_with_c1(std::string_view text) {
  if (text.size() < 2 || !is_latin1(text)) return false;
  const auto second = static_cast<unsigned char>(text[1]);
  return second >= kFirstC1 && second < kAfterC1;
}

constexpr std::size_t kMostOfEscape = 6;

struct Escape {
  std::array<char, 8> text{};  // of which copying all is fast
  std::size_t size = 0;
};

constexpr Escape escape_of(unsigned char byte) {
  switch (byte) {
    case '\b': return {{'\\', 'b'}, 2};
    case '\f': return {{'\\', 'f'}, 2};
    case '\n': return {{'\\', 'n'}, 2};
    case '\r': return {{'\\', 'r'}, 2};
    case '\t': return {{'\\', 't'}, 2};
    case '"': return {{'\\', '"'}, 2};
    case '\\': return {{'\\', '\\'}, 2};
    default: return {{'\\', 'u', '0', '0', kHexOfEscape[byte >> 4], kHexOfEscape[byte & 0xF]}, kMostOfEscape};
  }
}

constexpr std::array<Escape, 256> escapes() {
  std::array<Escape, 256> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = escape_of(static_cast<unsigned char>(i));
  return all;
}
constexpr auto kEscapes = escapes();

// Appends the escapes of characters at the begin of `value`, and returns the number of their bytes. A small file may
// decode to a gigabyte of such characters. REQUIRES: the first byte is not plain.
std::size_t append_escapes(std::string& text, std::string_view value) {
  std::array<char, 64> out{};
  std::size_t filled = 0;
  std::size_t taken = 0;
  do {
    if (const std::string_view rest = value.substr(taken); begins_with_c1(rest)) {
      ++taken;  // the second byte is the number of the character
    } else if (is_latin1(rest)) {
      out[filled++] = value[taken++];
      continue;
    }
    const Escape& escape = kEscapes[static_cast<unsigned char>(value[taken++])];
    std::memcpy(out.data() + filled, escape.text.data(), escape.text.size());
    filled += escape.size;
  } while (taken < value.size() && filled <= out.size() - sizeof(Escape::text) && !is_plain(value[taken]));
  text.append(out.data(), filled);
  return taken;
}

}  // namespace

void append_json_string(std::string& text, std::string_view value) {
  text += '"';
  for (std::size_t at = 0; at < value.size();) {
    std::size_t end = at + plain_characters(value.substr(at));
    text.append(value, at, end - at);
    if (end < value.size()) end += append_escapes(text, value.substr(end));
    at = end;
  }
  text += '"';
}

std::uint64_t json_string_size(std::string_view value) {
  std::uint64_t size = 2;
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (const std::string_view rest = value.substr(at); !is_latin1(rest)) {
      size += is_plain(value[at]) ? 1 : kEscapes[static_cast<unsigned char>(value[at])].size;
    } else if (begins_with_c1(rest)) {
      size += kMostOfEscape;
      ++at;
    } else {
      size += 1;
    }
  }
  return size;
}

}  // namespace recordfs
