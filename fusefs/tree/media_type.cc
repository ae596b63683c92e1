#include "fusefs/tree/media_type.h"

#include <algorithm>
#include <array>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

using std::string_view_literals::operator""sv;

struct Magic {
  std::string_view bytes;
  std::string_view type;
};

constexpr std::array kMagics = {
    Magic{"\x89PNG\r\n\x1a\n"sv, "image/png"},
    Magic{"\xFF\xD8\xFF"sv, "image/jpeg"},
    Magic{"\x1F\x8B\x08"sv, "application/gzip"},
    Magic{"\x28\xB5\x2F\xFD"sv, "application/zstd"},
    Magic{"SQLite format 3\0"sv, "application/x-sqlite3"},
};

constexpr std::string_view kWhiteSpace = " \t\r\n";

// Returns whether the bytes can be the start of a character.
bool is_cut_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  if (lead < 0xC2 || lead > 0xF4) return false;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; };
  return bytes.size() < length && std::ranges::all_of(bytes.substr(1), continues);
}

bool is_text(std::string_view text, bool is_all) {
  while (!text.empty()) {
    const std::size_t length = utf8_character(text);
    if (length == 0) return !is_all && is_cut_character(text);
    if (is_control(text) && kWhiteSpace.find(text.front()) == std::string_view::npos) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::string_view media_type(Bytes first, bool is_all) {
  const std::string_view text = as_text(first);
  const auto magic = std::ranges::find_if(kMagics, [&](const Magic& one) { return text.starts_with(one.bytes); });
  if (magic != kMagics.end()) return magic->type;
  if (!is_text(text, is_all)) return "application/octet-stream";
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  const bool is_json = begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
  return is_json ? "application/json" : "text/plain; charset=utf-8";
}

}  // namespace recordfs
