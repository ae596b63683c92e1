#include "core/decoding/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "core/base/utf8.h"
#include "core/decoding/base64.h"
#include "core/decoding/json_text.h"

namespace recordfs {
namespace {

constexpr std::uint64_t kIndent = 2;
// jq counts an object twice: once for itself and once for the name that precedes the value.
constexpr std::uint32_t kOfObject = 2;
constexpr std::uint32_t kOfList = 1;
constexpr std::size_t kLongestNumber = 32;
constexpr std::uint64_t kLongestEscape = 6;

// Returns the size of base64, rounded up.
constexpr std::uint64_t encoded_size(std::uint64_t size) { return (size / 3 + 1) * 4; }

template <class Float>
std::string_view word_of(Float number) {
  if (std::isnan(number)) return "NaN";
  return number > 0 ? "Infinity" : "-Infinity";
}

}  // namespace

JsonWriter JsonWriter::in_object(std::string& line, std::uint64_t most_bytes) {
  JsonWriter writer(line, JsonLayout::kLine, most_bytes);
  writer.depth_ = 1;
  writer.nesting_ = kOfObject;
  writer.is_first_ = false;
  return writer;
}

void JsonWriter::take_back(const Mark& mark) {
  text_.resize(mark.size);
  depth_ = mark.depth;
  nesting_ = mark.nesting;
  is_first_ = mark.is_first;
  is_full_ = mark.is_full;
  is_behind_name_ = false;
}

std::uint64_t JsonWriter::closing(std::uint32_t depth) const {
  // Each closing bracket is on a separate line, indented like its opening line.
  return layout_ == JsonLayout::kIndented ? std::uint64_t{depth} * (depth - 1) / 2 * kIndent + std::uint64_t{2} * depth
                                          : depth;
}

bool JsonWriter::has_room(std::uint64_t size) const {
  const std::uint64_t around = (layout_ == JsonLayout::kIndented ? kIndent * depth_ + 4 : 4) + closing(depth_);
  return text_.size() + around <= end_ && size <= end_ - text_.size() - around;
}

bool JsonWriter::make_room_for(std::string_view string) {
  // Counting escapes is slow and rarely matters, so first try the upper bound.
  const std::uint64_t most = kLongestEscape * string.size() + 2;
  return make_room(has_room(most) ? most : json_string_size(string));
}

bool JsonWriter::make_room(std::uint64_t size) {
  if (is_full_ || !has_room(size)) {
    is_full_ = true;
    return false;
  }
  if (is_behind_name_) {
    is_behind_name_ = false;
    return true;
  }
  if (depth_ > 0) {
    if (!is_first_) text_ += ',';
    new_line();
  }
  is_first_ = false;
  return true;
}

void JsonWriter::new_line() {
  if (layout_ == JsonLayout::kLine) return;
  text_ += '\n';
  text_.append(kIndent * depth_, ' ');
}

void JsonWriter::begin(char bracket) {
  if (!make_room(1 + closing(depth_ + 1) - closing(depth_))) return;
  text_ += bracket;
  ++depth_;
  nesting_ += bracket == '{' ? kOfObject : kOfList;
  is_first_ = true;
}

void JsonWriter::end(char bracket) {
  if (is_full_) return;
  --depth_;
  nesting_ -= bracket == '}' ? kOfObject : kOfList;
  if (!is_first_) new_line();
  text_ += bracket;
  is_first_ = false;
}

void JsonWriter::name(std::string_view name) {
  if (!make_room_for(name)) return;
  append_json_string(text_, name);
  text_ += layout_ == JsonLayout::kLine ? ":" : ": ";
  is_behind_name_ = true;
}

void JsonWriter::string(std::string_view text) {
  if (make_room_for(text)) append_json_string(text_, text);
}

void JsonWriter::base64(Bytes bytes) {
  if (make_room(encoded_size(bytes.size()) + 2)) append_json_base64(text_, bytes);
}

void JsonWriter::literal(std::string_view text) {
  if (make_room(text.size())) text_ += text;
}

template <class Number>
void JsonWriter::write_number(Number number, bool is_quoted) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return string(word_of(number));
  }
  std::array<char, kLongestNumber> digits;
  char* const begin = digits.data();
  const auto written = std::to_chars(begin, begin + digits.size(), number);
  if (!make_room(static_cast<std::uint64_t>(written.ptr - begin) + 2)) return;
  if (is_quoted) text_ += '"';
  text_.append(begin, written.ptr);
  if (is_quoted) text_ += '"';
}

template void JsonWriter::write_number(std::uint64_t, bool);
template void JsonWriter::write_number(std::int64_t, bool);
template void JsonWriter::write_number(double, bool);
template void JsonWriter::write_number(float, bool);

void JsonWriter::bytes(std::string_view name, std::string_view instead, Bytes bytes) {
  const bool is_text = is_utf8(as_text(bytes));
  this->name(is_text ? name : instead);
  if (is_text) {
    string(as_text(bytes));
  } else {
    base64(bytes);
  }
}

}  // namespace recordfs
