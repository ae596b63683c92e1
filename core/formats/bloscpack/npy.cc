#include "core/formats/bloscpack/npy.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/formats/text_reader.h"

namespace recordfs::bloscpack {
namespace {

constexpr std::size_t kMostDimensions = 64;  // of an array, and of a subarray type

constexpr std::uint64_t kLargestElement = 0x7FFFFFFF;
constexpr std::size_t kMostFields = 65536;

bool is_one_of(std::uint64_t number, std::initializer_list<std::uint64_t> all) {
  return std::ranges::find(all, number) != all.end();
}

bool is_unit(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  return std::ranges::all_of(text.substr(1, text.size() - 2), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/';
  });
}

// Returns the size of a type like '<f8', or nullopt for anything else.
std::optional<std::uint64_t> size_of_simple(std::string_view type) {
  if (type.size() < 3 || std::string_view("<>|").find(type[0]) == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = type.data() + type.size();
  const auto parsed = std::from_chars(type.data() + 2, end, number);
  if (parsed.ec != std::errc{} || number > kLargestElement / 4) return std::nullopt;
  const std::string_view rest(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  const char kind = type[1];
  if (kind == 'm' || kind == 'M') return number == 8 && is_unit(rest) ? std::optional(number) : std::nullopt;
  if (!rest.empty()) return std::nullopt;
  switch (kind) {
    case 'b': return number == 1 ? std::optional(number) : std::nullopt;
    case 'i':
    case 'u': return is_one_of(number, {1, 2, 4, 8}) ? std::optional(number) : std::nullopt;
    case 'f': return is_one_of(number, {2, 4, 8, 12, 16}) ? std::optional(number) : std::nullopt;
    case 'c': return is_one_of(number, {8, 16, 24, 32}) ? std::optional(number) : std::nullopt;
    case 'S':
    case 'V': return number;
    case 'U': return number * 4;
    default: return std::nullopt;
  }
}

class DtypeReader : private TextReader {
 public:
  DtypeReader(std::string_view literal, std::uint32_t depth) : TextReader(as_bytes(literal), " \n"), depth_(depth) {}

  std::optional<Dtype> run() {
    Dtype dtype = read_type(0);
    skip_space();
    if (!cursor_.ok() || !cursor_.at_end()) return std::nullopt;
    return dtype;
  }

 private:
  Dtype read_type(std::uint32_t level) {
    skip_space();
    if (peek() == '[') return read_fields(level);
    const std::string type = read_string();
    const auto size = size_of_simple(type);
    if (!size) cursor_.fail();
    return {quoted(type), size.value_or(0)};
  }

  Dtype read_fields(std::uint32_t level) {
    Dtype all;
    expect('[');
    if (level >= depth_) cursor_.fail();
    std::size_t fields = 0;
    while (cursor_.ok() && !take_if(']')) {
      if (++fields > kMostFields) cursor_.fail();
      const Dtype field = read_field(level);
      all.description += (all.description.empty() ? "[" : ", ") + field.description;
      all.size += field.size;
      if (all.size > kLargestElement) cursor_.fail();
      if (!take_if(',')) {
        expect(']');
        break;
      }
    }
    if (fields == 0) cursor_.fail();
    all.description += "]";
    return all;
  }

  // Reads (name, type) or (name, type, shape). Lists replace tuples in a text that was JSON before.
  Dtype read_field(std::uint32_t level) {
    const char close = open();
    Dtype field;
    field.description = "(" + read_name();
    expect(',');
    const Dtype type = read_type(level + 1);
    field.description += ", " + type.description;
    field.size = type.size;
    if (take_if(',') && !is_next(close)) {
      std::uint64_t elements = 1;
      field.description += ", " + read_shape(elements);
      if (elements != 0 && field.size > kLargestElement / elements) cursor_.fail();
      field.size *= elements;
      take_if(',');
    }
    expect(close);
    field.description += ")";
    return field;
  }

  bool is_next(char c) {
    skip_space();
    return peek() == c;
  }

  // Reads an opening parenthesis or bracket; returns the closing one.
  char open() {
    if (take_if('(')) return ')';
    expect('[');
    return ']';
  }

  // Reads a name, or a title and a name.
  std::string read_name() {
    skip_space();
    if (peek() == '\'' || peek() == '"') return quoted(read_string());
    const char close = open();
    const std::string title = quoted(read_string());
    expect(',');
    const std::string name = quoted(read_string());
    expect(close);
    return "(" + title + ", " + name + ")";
  }

  std::string read_shape(std::uint64_t& elements) {
    skip_space();
    if (peek() != '(' && peek() != '[') return fmt::format("({},)", read_number(elements));
    const char close = open();
    std::string shape = "(";
    for (std::size_t i = 0; cursor_.ok() && !take_if(close); ++i) {
      if (i == kMostDimensions) cursor_.fail();
      shape += fmt::format("{},", read_number(elements));
      if (!take_if(',')) {
        expect(close);
        break;
      }
    }
    return shape + ")";
  }

  std::uint64_t read_number(std::uint64_t& product) {
    skip_space();
    std::string digits;
    while (peek() >= '0' && peek() <= '9' && digits.size() < 11) digits += take();
    std::uint64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || number > kLargestElement) cursor_.fail();
    product *= std::min(number, kLargestElement);
    if (product > kLargestElement) cursor_.fail();
    product = std::min(product, kLargestElement);
    return number;
  }

  // Reads a string in either kind of quotes, or a bare type up to the end.
  std::string read_string() {
    skip_space();
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::string(as_text(cursor_.take(cursor_.remaining())));
    take();
    return read_until(quote, [this](std::string& text) { read_escape(text); });
  }

  void read_escape(std::string& text) {
    const char c = take();
    if (c == '\\' || c == '\'' || c == '"') return text.push_back(c);
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) return cursor_.fail();
    std::string hex;
    for (int i = 0; i < digits; ++i) hex += take();
    std::uint32_t code_point = 0;
    const auto parsed = std::from_chars(hex.data(), hex.data() + hex.size(), code_point, 16);
    const bool is_character = code_point < 0x110000 && (code_point < 0xD800 || code_point > 0xDFFF);
    if (parsed.ptr != hex.data() + hex.size() || !is_character || code_point < 0x20) return cursor_.fail();
    append_utf8(text, code_point);
  }

  static std::string quoted(const std::string& text) {
    std::string literal = "'";
    for (const char c : text) {
      if (c == '\'' || c == '\\') literal += '\\';
      literal += c;
    }
    return literal + "'";
  }

  const std::uint32_t depth_;
};

constexpr std::uint64_t kLargestArray = std::uint64_t{1} << 62;

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

}  // namespace

std::optional<Dtype> read_dtype(std::string_view literal, std::uint32_t depth) {
  return DtypeReader(literal, depth).run();
}

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

}  // namespace recordfs::bloscpack
