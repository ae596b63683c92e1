#include "core/formats/numpy_array.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace recordfs {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::string_view kDescr = "{'descr': ";
constexpr std::string_view kOrder = ", 'fortran_order': ";
constexpr std::string_view kShape = ", 'shape': (";

void put(std::string& text, std::size_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> 8 * i & 0xFF));
}

}  // namespace

std::string npy_header(const NumpyArray& array) {
  std::string shape;
  for (const std::uint64_t length : array.shape) shape += fmt::format("{}, ", length);
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.pop_back();
  std::string text = fmt::format("{}{}{}{}{}{}), }}", kDescr, array.dtype.description, kOrder,
                                 array.is_fortran ? "True" : "False", kShape, shape);
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

NumpyArray described_by(std::string_view header, std::uint64_t size) {
  NumpyArray array{.bytes = size - header.size()};
  const std::size_t type = header.find(kDescr) + kDescr.size();
  const std::size_t order = header.rfind(kOrder);
  array.dtype.description = header.substr(type, order - type);
  array.is_fortran = header.substr(order + kOrder.size()).starts_with("True");
  const std::size_t shape = header.rfind(kShape) + kShape.size();
  std::uint64_t elements = 1;
  const char* const end = header.data() + header.size();
  for (const char* at = header.data() + shape; at != end && *at != ')';) {
    std::uint64_t length = 0;
    const auto parsed = std::from_chars(at, end, length);
    if (parsed.ec == std::errc{}) {
      array.shape.push_back(length);
      elements = length != 0 && elements > array.bytes / length ? 0 : elements * length;
    }
    at = std::max(parsed.ptr, at + 1);
  }
  array.dtype.size = elements == 0 ? 0 : array.bytes / elements;
  return array;
}

}  // namespace recordfs
