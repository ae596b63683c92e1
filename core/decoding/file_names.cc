#include "core/decoding/file_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/base/percent_encoding.h"
#include "core/base/utf8.h"
#include "core/hash/fnv.h"
#include "core/hash/highway.h"

namespace recordfs {
namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::size_t kPrefixOfLong = 100;

// Returns the longest prefix of at most `size` bytes that does not cut a character or a "%XX".
std::string beginning(const std::string& encoded, std::size_t size) {
  size = std::min(size, encoded.size());
  const auto cuts = [&](std::size_t at) {
    const bool in_character = at < encoded.size() && (static_cast<unsigned char>(encoded[at]) & 0xC0u) == 0x80u;
    const bool in_escape = (at >= 1 && encoded[at - 1] == '%') || (at >= 2 && encoded[at - 2] == '%');
    return at < encoded.size() && (in_character || in_escape);
  };
  while (cuts(size)) --size;
  return encoded.substr(0, size);
}

std::string with_number(const std::string& encoded, std::uint64_t number) {
  return fmt::format("{}~{:016x}", beginning(encoded, kPrefixOfLong), number);
}

std::string hashed(const std::string& encoded, std::string_view key, std::uint64_t attempt) {
  return with_number(encoded, fnv1a(key, attempt));
}

bool is_usable(const std::string& encoded) {
  return !encoded.empty() && encoded != "." && encoded != ".." && encoded.size() <= kLongestName;
}

// Returns at least `width` digits, with leading zeros. Fast, because a listing makes a name per record.
std::string padded(std::uint64_t number, std::size_t width) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.begin(), digits.end(), number).ptr;
  const auto size = static_cast<std::size_t>(end - digits.begin());
  std::string name(std::max(width, size), '0');
  name.replace(name.size() - size, size, digits.data(), size);
  return name;
}

}  // namespace

Error no_such_name() { return {.code = Code::kNotFound, .detail = "no such name"}; }

std::string record_name(std::uint64_t ordinal) { return padded(ordinal, 9); }
std::string chunk_record_name(std::uint64_t index) { return padded(index, 6); }
std::string position_name(std::uint64_t position) { return padded(position, 15); }
std::string thousand_name(std::uint64_t thousand) { return padded(thousand, 6); }

std::optional<std::uint64_t> number_from(std::string_view name) {
  if (name.empty() || name.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return number;
}

std::uint64_t key_number(std::uint32_t family, std::string_view key) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(family >> shift & 0xFFu);
  text += key;
  return highway_hash(as_bytes(text));
}

std::string key_name(std::string_view key, std::uint64_t number, const std::vector<std::string_view>& reserved) {
  // A longer key has too long a name in any encoding.
  std::string encoded = percent_encoded(key.substr(0, kLongestName + 1), "/");
  const bool is_taken = std::ranges::find(reserved, encoded) != reserved.end() || key_number_in(encoded);
  return is_usable(encoded) && !is_taken ? encoded : with_number(encoded, number);
}

std::string key_file_name(std::string_view key, std::uint64_t number) {
  return key_name(key, number, {kNamesTable, kKeyFamiliesName});
}

std::optional<std::uint64_t> key_number_in(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  if (name.size() <= kDigits || name[name.size() - kDigits - 1] != '~') return std::nullopt;
  const std::string_view digits = name.substr(name.size() - kDigits);
  if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

std::vector<std::string> names_for(const std::vector<std::string_view>& keys,
                                   const std::vector<std::string_view>& reserved) {
  std::set<std::string, std::less<>> taken(reserved.begin(), reserved.end());
  std::map<std::string_view, std::uint64_t> attempts;  // by key: where the next equal key continues
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const std::string_view key : keys) {
    const std::string encoded = percent_encoded(key, "/");
    std::string name = encoded;
    if (!is_usable(encoded) || taken.contains(name)) {
      std::uint64_t& attempt = attempts[key];
      do name = hashed(encoded, key, attempt++);
      while (taken.contains(name));
    }
    taken.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

std::string names_table(const std::vector<std::string_view>& keys, const std::vector<std::string>& names) {
  std::string table = "name\tkey\n";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == names[i]) continue;
    table += fmt::format("{}\t{}\n", names[i], percent_encoded(keys[i], ""));
  }
  return table;
}

}  // namespace recordfs
