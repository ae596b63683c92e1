#include "core/formats/bloscpack/npy.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace recordfs::bloscpack {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kLargestArray = std::uint64_t{1} << 62;
constexpr std::string_view kMagic("\x93NUMPY", 6);

// Returns the last member with this key, as Python does.
const JsonMember* member(const JsonText& metadata, std::string_view key) {
  const auto found = std::find_if(metadata.members.rbegin(), metadata.members.rend(),
                                  [&](const JsonMember& m) { return m.key == key; });
  return found == metadata.members.rend() ? nullptr : &*found;
}

bool is_string(const JsonMember* found, std::string_view value) {
  return found != nullptr && found->type == JsonType::kString && found->value == value;
}

// Parses "[60, 100]", which is known to be a JSON array.
std::optional<std::vector<std::uint64_t>> read_shape(std::string_view text) {
  std::vector<std::uint64_t> shape;
  std::string numbers(text.substr(1, text.size() - 2));
  std::erase_if(numbers, [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
  const char* at = numbers.data();
  const char* const end = at + numbers.size();
  while (at != end) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc{} || shape.size() == kMostDimensions) return std::nullopt;
    shape.push_back(number);
    at = parsed.ptr;
    if (at != end && *at++ != ',') return std::nullopt;
  }
  return shape;
}

std::optional<std::uint64_t> product(std::uint64_t size, const std::vector<std::uint64_t>& shape) {
  if (std::ranges::find(shape, 0u) != shape.end()) return 0;
  for (const std::uint64_t length : shape) {
    if (size > kLargestArray / length) return std::nullopt;
    size *= length;
  }
  return size;
}

void put(std::string& text, std::size_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> 8 * i & 0xFF));
}

}  // namespace

bool claims_array(const JsonText& metadata) { return is_string(member(metadata, "container"), "numpy"); }

std::optional<NumpyArray> find_array(const JsonText& metadata, std::uint32_t depth) {
  const JsonMember* const dtype = member(metadata, "dtype");
  const JsonMember* const shape = member(metadata, "shape");
  const JsonMember* const order = member(metadata, "order");
  if (!claims_array(metadata) || dtype == nullptr || shape == nullptr) return std::nullopt;
  if (shape->type != JsonType::kArray) return std::nullopt;
  if (dtype->type != JsonType::kString && dtype->type != JsonType::kArray) return std::nullopt;
  NumpyArray array;
  array.is_fortran = is_string(order, "F");
  if (!array.is_fortran && !is_string(order, "C")) return std::nullopt;
  auto type = read_dtype(dtype->value, depth);
  auto lengths = read_shape(shape->value);
  if (!type || !lengths) return std::nullopt;
  auto bytes = product(type->size, *lengths);
  if (!bytes) return std::nullopt;
  array.dtype = std::move(*type);
  array.shape = std::move(*lengths);
  array.bytes = *bytes;
  return array;
}

std::string npy_header(const NumpyArray& array) {
  std::string shape;
  for (const std::uint64_t length : array.shape) shape += fmt::format("{}, ", length);
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.pop_back();
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': ({}), }}", array.dtype.description,
                                 array.is_fortran ? "True" : "False", shape);
  const bool is_ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  // Version 1 has a 2-byte length, version 2 a 4-byte one, and version 3 is version 2 with names in UTF-8.
  const bool is_short = is_ascii && text.size() + kAlignment <= std::numeric_limits<std::uint16_t>::max();
  const std::size_t before = kMagic.size() + 2 + (is_short ? 2 : 4);
  text.append(kAlignment - 1 - (before + text.size()) % kAlignment, ' ');
  text.push_back('\n');
  std::string header(kMagic);
  header.push_back(static_cast<char>(is_short ? 1 : is_ascii ? 2 : 3));
  header.push_back('\0');
  put(header, text.size(), is_short ? 2 : 4);
  return header + text;
}

}  // namespace recordfs::bloscpack
