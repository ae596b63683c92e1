#include "core/decoding/json_writer.h"

#include <nettle/base64.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>
#include <type_traits>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_hex(std::string& text, Bytes bytes) {
  for (const std::byte byte : bytes) {
    text += kHexDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kHexDigits[std::to_integer<std::size_t>(byte & std::byte{0xF})];
  }
}

// Returns UTF-8, with U+FFFD for each byte of anything else.
std::string shown(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t size = utf8_character(bytes);
    text.append(size > 0 ? bytes.substr(0, size) : std::string_view("\xEF\xBF\xBD"));
    bytes.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return text;
}

// Returns the path as JsonWriter::path() writes it, in quotes.
std::string quoted_path(std::string_view path) {
  std::string text = "\"";
  while (!path.empty()) {
    std::size_t size = 0;
    while (const std::size_t next = utf8_character(path.substr(size))) size += next;
    if (size > 0) {
      std::string quoted;
      append_json_string(quoted, path.substr(0, size));
      text.append(quoted, 1, quoted.size() - 2);
      path.remove_prefix(size);
    } else {
      text += "\\udc";
      append_hex(text, as_bytes(path.substr(0, 1)));
      path.remove_prefix(1);
    }
  }
  return text += '"';
}

struct Writer {
  void operator()(std::monostate) const { json.literal("null"); }
  void operator()(bool value) const { json.literal(value ? "true" : "false"); }
  void operator()(std::uint64_t value) const { json.number(value); }
  void operator()(std::int64_t value) const { json.number(value); }
  void operator()(double value) const { json.number(value); }
  void operator()(const std::string& value) const { json.string(shown(value)); }
  void operator()(const JsonPath& value) const { json.literal(quoted_path(value.bytes)); }
  void operator()(const JsonObject& value) const {
    json.begin_object();
    for (const JsonObject::Member& member : value.members) {
      if (const auto* path = std::get_if<JsonPath>(&member.content)) {
        json.path(member.name, path->bytes);
      } else {
        json.name(shown(member.name));
        std::visit(*this, member.content);
      }
    }
    json.end_object();
  }
  void operator()(const JsonObject::List& value) const {
    json.begin_list();
    for (const JsonObject& item : value) (*this)(item);
    json.end_list();
  }

  JsonWriter& json;
};

constexpr std::uint64_t kIndent = 2;
// jq counts an object twice: once for itself and once for the name that precedes the value.
constexpr std::uint32_t kOfObject = 2;
constexpr std::uint32_t kOfList = 1;
constexpr std::size_t kLongestEscape = 6;  // of a character in a string
constexpr std::size_t kLongestNumber = 32;
constexpr std::size_t kShortName = 28;  // bytes
constexpr std::string_view kNull = "null";
constexpr std::string_view kTrue = "true";

// Returns the size of base64, rounded up.
constexpr std::uint64_t encoded_size(std::uint64_t size) { return (size / 3 + 1) * 4; }

// Returns how many bytes it takes to close `depth` open objects and lists. Each closing bracket of an indented one is
// on a separate line, indented like its opening line.
std::uint64_t closing(JsonLayout layout, std::uint32_t depth) {
  return layout == JsonLayout::kIndented ? std::uint64_t{depth} * (depth - 1) / 2 * kIndent + std::uint64_t{2} * depth
                                         : depth;
}

void append_line_break(std::string& text, JsonLayout layout, std::uint32_t depth) {
  if (layout != JsonLayout::kIndented) return;
  text += '\n';
  text.append(kIndent * depth, ' ');
}

// Returns whether the values of a writer with this filter have no quotes and commas.
bool has_no_quotes(const JsonFilter* filter) { return filter != nullptr && filter->writes_values(); }

// Returns the size of a string in JSON, or an upper bound if there is room for that: counting escapes is slow and
// rarely matters.
std::uint64_t size_of_string(std::string_view string, std::uint64_t room) {
  const std::uint64_t most = kLongestEscape * string.size() + 2;
  return most <= room ? most : json_string_size(string);
}

// Returns the nearest double of a number of JSON that no double is near to: 0 or an infinity.
double beyond_doubles(std::string_view number) {
  const bool is_negative = number.starts_with('-');
  if (is_negative) number.remove_prefix(1);
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, e);
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<std::int64_t>(std::min(digits.find_first_not_of("0."), digits.size()));
  // The number of digits before the point if the exponent were 0.
  const std::int64_t places = point - first + (first > point ? 1 : 0);
  std::string_view exponent = number.substr(std::min(e + 1, number.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  const bool is_small = exponent.starts_with('-');
  std::int64_t power = 0;
  const auto parsed = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  if (parsed.ec == std::errc::result_out_of_range) power = is_small ? INT64_MIN / 2 : INT64_MAX / 2;
  const double size = places + power > 0 ? std::numeric_limits<double>::infinity() : 0;
  return is_negative ? -size : size;
}

// Returns the value of a JSON token.
Scalar scalar_of(std::string_view token) {
  // cppcheck-suppress danglingTemporaryLifetime
  const char* const end = token.data() + token.size();
  const auto parse = [&](auto number) {
    const auto parsed = std::from_chars(token.data(), end, number);
    const bool is_beyond = std::is_same_v<decltype(number), double> && parsed.ec == std::errc::result_out_of_range;
    if (parsed.ptr == end && is_beyond) return std::optional(Scalar(beyond_doubles(token)));
    return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(Scalar(number)) : std::nullopt;
  };
  if (token == "true" || token == "false") return token == "true";
  if (const auto number = parse(std::int64_t{0})) return *number;
  if (const auto number = parse(std::uint64_t{0})) return *number;
  return parse(0.0).value_or(Scalar());
}

// Returns whether a token is a number whose nearest double says less than it: an integer of more than 64 bits, or one
// that no double is near to.
bool is_beyond_columns(std::string_view token, const Scalar& scalar) {
  const auto* const number = std::get_if<double>(&scalar);
  if (number == nullptr) return false;
  const bool is_zero =
      *number == 0 && token.substr(0, token.find_first_of("eE")).find_first_of("123456789") != std::string_view::npos;
  return !std::isfinite(*number) || is_zero || token.find_first_of(".eE") == std::string_view::npos;
}

template <class Float>
std::string_view word_of(Float number) {
  if (std::isnan(number)) return "NaN";
  return number > 0 ? "Infinity" : "-Infinity";
}

}  // namespace

void append_base64(std::string& text, Bytes bytes) {
  const std::size_t before = text.size();
  text.resize(before + BASE64_ENCODE_RAW_LENGTH(bytes.size()));
  base64_encode_raw(text.data() + before, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string decoded_base64(std::string_view text) {
  std::string bytes(BASE64_DECODE_LENGTH(text.size()), '\0');
  base64_decode_ctx state;
  base64_decode_init(&state);
  std::size_t size = bytes.size();
  base64_decode_update(&state, &size, reinterpret_cast<std::uint8_t*>(bytes.data()), text.size(), text.data());
  bytes.resize(size);
  return bytes;
}

namespace {

void append_encoded(std::string& text, Bytes bytes, ByteForm form) {
  return form == ByteForm::kHex ? append_hex(text, bytes) : append_base64(text, bytes);
}

// Returns the name of a member with bytes: `name` for text, and otherwise `instead`, which ends with "base64", or with
// "hex" for ByteForm::kHex.
std::string name_of_bytes(ByteForm form, bool is_text, std::string_view name, std::string_view instead) {
  constexpr std::string_view kBase64 = "base64";
  if (is_text) return std::string(name);
  if (form != ByteForm::kHex || !instead.ends_with(kBase64)) return std::string(instead);
  return std::string(instead.substr(0, instead.size() - kBase64.size())) + "hex";
}

}  // namespace

JsonWriter JsonWriter::in_object(std::string& line, std::uint64_t most_bytes, ByteForm form, JsonFilter* filter) {
  JsonWriter writer(line, JsonLayout::kLine, most_bytes, form, filter);
  writer.depth_ = 1;
  writer.nesting_ = kOfObject;
  writer.is_first_ = false;
  return writer;
}

JsonMark JsonWriter::mark() const {
  JsonMark mark{text_.size(), depth_, nesting_, is_first_, is_after_name_, is_full_};
  if (filter_ != nullptr) filter_->save(mark);
  return mark;
}

void JsonWriter::take_back(const JsonMark& mark) {
  text_.resize(mark.size);
  depth_ = mark.depth;
  nesting_ = mark.nesting;
  is_first_ = mark.is_first;
  is_full_ = mark.is_full;
  is_after_name_ = mark.is_after_name;
  if (filter_ != nullptr) filter_->take_back(mark);
}

std::uint64_t JsonWriter::room() const {
  const std::uint64_t around = (layout_ == JsonLayout::kIndented ? kIndent * depth_ + 4 : 4) + closing(layout_, depth_);
  return end_ - std::min(end_, text_.size() + around);
}

bool JsonWriter::make_room(std::uint64_t size) {
  if (is_full_ || size > room()) {
    is_full_ = true;
    return false;
  }
  if (has_no_quotes(filter_)) return true;
  if (is_after_name_) {
    is_after_name_ = false;
    return true;
  }
  if (depth_ > 0) {
    if (!is_first_) text_ += ',';
    append_line_break(text_, layout_, depth_);
  }
  is_first_ = false;
  return true;
}

bool JsonWriter::begin_scalar() {
  const auto verdict = filter_->scalar(mark());
  if (verdict == JsonFilter::Verdict::kUndo) take_back(filter_->undone());
  if (verdict == JsonFilter::Verdict::kNull && make_room(kNull.size())) text_ += kNull;
  return verdict == JsonFilter::Verdict::kWrite;
}

void JsonWriter::begin(char bracket, JsonFilter::Shape shape) {
  if (is_full_) return;
  if (takes_scalars()) {
    filter_->begin(shape, {});
    ++depth_;
    nesting_ += bracket == '{' ? kOfObject : kOfList;
    return;
  }
  if (filter_ == nullptr || filter_->begin(shape, mark()) == JsonFilter::Verdict::kWrite) {
    if (!make_room(1 + closing(layout_, depth_ + 1) - closing(layout_, depth_))) return;
    text_ += bracket;
    is_first_ = true;
  }
  ++depth_;
  nesting_ += bracket == '{' ? kOfObject : kOfList;
}

void JsonWriter::end(char bracket) {
  if (is_full_) return;
  if (has_no_quotes(filter_) && bracket == '}' && filter_->note_presence(text_.size())) {
    if (make_room(kTrue.size())) text_ += kTrue;
  }
  const auto verdict = filter_ == nullptr ? JsonFilter::Verdict::kWrite : filter_->end();
  if (verdict == JsonFilter::Verdict::kUndo) return take_back(filter_->undone());
  --depth_;
  nesting_ -= bracket == '}' ? kOfObject : kOfList;
  if (verdict == JsonFilter::Verdict::kSkip) return;
  if (!is_first_) append_line_break(text_, layout_, depth_);
  text_ += bracket;
  is_first_ = false;
}

void JsonWriter::name(std::string_view name, bool is_plain) {
  if (takes_scalars()) {
    filter_->name(name, {});
    return;
  }
  if (filter_ != nullptr && filter_->name(name, mark()) != JsonFilter::Verdict::kWrite) return;
  write_name(name, is_plain);
}

void JsonWriter::write_name(std::string_view name, bool is_plain) {
  if (!make_room(is_plain ? name.size() + 2 : size_of_string(name, room()))) return;
  is_after_name_ = true;
  const std::string_view end = layout_ == JsonLayout::kIndented ? "\": " : "\":";
  if (is_plain && name.size() <= kShortName) {
    // In one piece, because a record's line has several, and there may be millions of lines for a small file.
    std::array<char, 1 + kShortName + 3> piece;
    piece[0] = '"';
    std::memcpy(piece.data() + 1, name.data(), name.size());
    std::memcpy(piece.data() + 1 + name.size(), end.data(), end.size());
    text_.append(piece.data(), 1 + name.size() + end.size());
    return;
  }
  append_json_string(text_, name);
  text_ += end.substr(1);
}

void JsonWriter::string(std::string_view text) {
  if (takes_scalars()) return filter_->take(text);
  if (filter_ != nullptr && !begin_scalar()) return;
  if (!has_no_quotes(filter_)) {
    if (make_room(size_of_string(text, room()))) append_json_string(text_, text);
  } else if (make_room(text.size())) {
    text_ += text;
  }
}

void JsonWriter::encoded(Bytes bytes, ByteForm form) {
  if (takes_scalars()) return filter_->take(bytes);
  constexpr std::string_view kMark = "\\ud800";
  const std::uint64_t size = form == ByteForm::kHex ? 2 * bytes.size() : encoded_size(bytes.size()) + kMark.size();
  if ((filter_ != nullptr && !begin_scalar()) || !make_room(size + 2)) return;
  const std::string_view quote = has_no_quotes(filter_) ? "" : "\"";
  text_ += quote;
  if (is_typed()) text_ += kMark;
  append_encoded(text_, bytes, form);
  text_ += quote;
}

void JsonWriter::literal(std::string_view text) {
  if (takes_scalars()) {
    const Scalar scalar = scalar_of(text);
    if (is_beyond_columns(text, scalar)) filter_->note_beyond(text);
    return filter_->take(scalar);
  }
  const bool is_no_value = has_no_quotes(filter_) && text == kNull;  // although the field is there
  const std::size_t values = is_no_value ? mark().values : 0;
  if (filter_ != nullptr && !begin_scalar()) return;
  if (is_no_value) {
    JsonMark without = mark();
    without.values = values;
    take_back(without);
  } else if (make_room(text.size())) {
    text_ += text;
  }
}

template <class Number>
void JsonWriter::number(Number number, bool is_quoted) {
  if (takes_scalars()) return filter_->take(number);
  is_quoted = is_quoted && !is_typed() && !has_no_quotes(filter_);
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return is_typed() ? literal(word_of(number)) : string(word_of(number));
  }
  std::array<char, kLongestNumber> digits;
  char* const begin = digits.data();
  const auto written = std::to_chars(begin, begin + digits.size(), number);
  const std::string_view text(begin, static_cast<std::size_t>(written.ptr - begin));
  if ((filter_ != nullptr && !begin_scalar()) || !make_room(text.size() + 2)) return;
  if (is_quoted) text_ += '"';
  text_ += text;
  if (is_quoted) text_ += '"';
  const bool looks_like_integer =
      std::is_floating_point_v<Number> && text.find_first_of(".e") == std::string_view::npos;
  if (is_typed() && looks_like_integer) text_ += ".0";
}

template void JsonWriter::number(std::uint64_t, bool);
template void JsonWriter::number(std::int64_t, bool);
template void JsonWriter::number(double, bool);
template void JsonWriter::number(float, bool);

void JsonWriter::enumerator(std::int32_t number, std::string_view name) {
  if (!takes_scalars()) return name.empty() ? this->number(std::int64_t{number}) : string(name);
  if (!name.empty()) return filter_->take(EnumValue{number, name});
  filter_->take(EnumValue{number, std::to_string(number)});
}

void JsonWriter::bytes(std::string_view name, std::string_view instead, Bytes bytes) {
  if (takes_scalars()) {
    this->name(name);
    return encoded(bytes);
  }
  if (has_no_quotes(filter_)) {
    this->name(name);
    if (!filter_->skips_next()) {
      if (begin_scalar() && make_room(bytes.size())) text_ += as_text(bytes);
      return;
    }
  }
  const bool is_text = !is_typed() && form_ == ByteForm::kAuto && is_utf8(as_text(bytes));
  const std::string written = name_of_bytes(form_, is_text || is_typed(), name, instead);
  if (filter_ != nullptr && filter_->name(name, mark()) == JsonFilter::Verdict::kWrite) {
    write_name(written, false);
  } else {
    this->name(written);
  }
  if (is_text) return string(as_text(bytes));
  encoded(bytes, form_ == ByteForm::kHex ? ByteForm::kHex : ByteForm::kBase64);
}

void JsonWriter::bytes(Bytes bytes) {
  if (is_typed() || takes_scalars()) return encoded(bytes);
  if (has_no_quotes(filter_) && begin_scalar()) {
    if (make_room(bytes.size())) text_ += as_text(bytes);
    return;
  }
  begin_object();
  this->bytes("text", "base64", bytes);
  end_object();
}

void JsonWriter::path(std::string_view name, std::string_view path) {
  if (takes_scalars()) return bytes(name, name, as_bytes(path));
  if (is_utf8(path)) return member(name, path);
  this->name(name);
  literal(quoted_path(path));
  this->name(std::string(name) + "_base64");
  encoded(as_bytes(path));
}

void write_json_bytes(JsonWriter& json, std::string& text, std::string_view name, std::string_view instead, Bytes bytes,
                      ByteForm form, const std::function<void(std::string_view)>& write) {
  constexpr std::size_t kPiece = 3u << 18;  // a multiple of 3, for base64; escaped it is at most six times as long
  const bool is_text = form == ByteForm::kAuto && is_utf8(as_text(bytes));
  json.name(name_of_bytes(form, is_text, name, instead));
  json.literal("\"");
  write(text);
  while (!bytes.empty()) {
    std::size_t size = std::min(bytes.size(), kPiece);
    // A piece must not end inside a character.
    while (is_text && size < bytes.size() && (bytes[size] & std::byte{0xC0}) == std::byte{0x80}) --size;
    text.clear();
    if (is_text) {
      append_json_string(text, as_text(bytes.first(size)));
      write(std::string_view(text).substr(1, text.size() - 2));
    } else {
      append_encoded(text, bytes.first(size), form);
      write(text);
    }
    bytes = bytes.subspan(size);
  }
  text = '"';
}

JsonObject::JsonObject() = default;
JsonObject::JsonObject(const JsonObject&) = default;
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(const JsonObject&) = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

const JsonObject::Content* JsonObject::find(std::string_view name) const {
  const auto known = std::ranges::find(members, name, &Member::name);
  return known == members.end() ? nullptr : &known->content;
}

std::string to_json(const JsonObject& object, JsonLayout layout) {
  std::string text;
  JsonWriter json(text, layout);
  Writer{json}(object);
  return std::move(text += '\n');
}

}  // namespace recordfs
