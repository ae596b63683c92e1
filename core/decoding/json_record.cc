#include "core/decoding/json_record.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/utf8.h"

namespace recordfs {
namespace {

constexpr std::uint32_t kDeepestJson = 100;
constexpr std::size_t kMostJsonValues = 1u << 20;
constexpr std::string_view kSpaces = " \t\r\n";

// Removes digits from the begin of `text`. Returns whether there was one.
bool take_digits(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0')) {
    text.remove_prefix(1);
  } else if (!take_digits(text)) {
    return false;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!take_digits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!take_digits(text)) return false;
  }
  return text.empty();
}

// JsonValue has numbers that are not checked. Recursion is bounded by kDeepestJson.
bool has_only_numbers(const JsonValue& value) {
  if (value.type == JsonType::kNumber) return is_number(value.text);
  return std::ranges::all_of(value.values, has_only_numbers);
}

// Returns whether all strings are as they were written. Recursion is bounded by kDeepestJson.
bool is_exact(const JsonValue& value) { return value.is_exact && std::ranges::all_of(value.values, is_exact); }

// Writes the members of an open object.
void write_members(JsonWriter& writer, const JsonValue& object) {
  for (const JsonValue* const member : members_of(object)) {
    writer.name(member->key);
    if (!writer.skips_next()) write_json(writer, *member);
  }
}

// The objects and lists of a text, which need not be valid otherwise.
struct TextShape {
  std::size_t levels = 0;  // in each other, at most
  std::size_t values = 0;  // at most
  bool is_closed = false;  // the first one ends with the text, and each in it before
};

// Returns the position of the quote that ends a string; npos if there is none.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  std::size_t at = text.find_first_of("\"\\", begin + 1);
  while (at != std::string_view::npos && text[at] == '\\') at = text.find_first_of("\"\\", at + 2);
  return at;
}

TextShape shape_of(std::string_view text) {
  TextShape shape;
  std::string open;  // the brackets that close what is open
  for (std::size_t at = 0; (at = text.find_first_of("\"{}[],", at)) != std::string_view::npos; ++at) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      if (at == std::string_view::npos) return shape;
    } else if (c == ',') {
      ++shape.values;
    } else if (c == '{' || c == '[') {
      ++shape.values;
      open += c == '{' ? '}' : ']';
      shape.levels = std::max(shape.levels, open.size());
    } else {
      if (open.empty() || open.back() != c) return shape;
      open.pop_back();
      if (!open.empty()) continue;
      shape.is_closed = text.find_first_not_of(kSpaces, at + 1) == std::string_view::npos;
      return shape;
    }
  }
  return shape;
}

// Returns whether a text without spaces around it has the form of a value of JSON: a list, an object or a string may be
// invalid inside.
bool may_be_json(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"true", "false", "null"};
  if (text.starts_with('{') || text.starts_with('[')) return true;
  if (text.starts_with('"')) return text.size() > 1 && text.ends_with('"');
  return is_number(text) || std::ranges::find(kWords, text) != kWords.end();
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpaces);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

// Returns why a text that is not read is JSON nevertheless, as far as its brackets show.
std::optional<Error> excess_of(std::string_view text) {
  const TextShape shape = shape_of(text);
  const bool is_deep = shape.levels > kDeepestJson;
  if (!shape.is_closed || (!is_deep && shape.values < kMostJsonValues)) return std::nullopt;
  return Error{.code = Code::kUnsupported,
               .detail = is_deep ? fmt::format("the JSON text nests more than {} levels", kDeepestJson)
                                 : fmt::format("the JSON text has more than {} values", kMostJsonValues)};
}

}  // namespace

bool may_be_json_object(Bytes record) { return without_spaces(as_text(record)).starts_with('{'); }

Result<std::optional<JsonValue>> json_of_record(Bytes record) {
  const std::string_view text = as_text(record);
  if (!may_be_json(without_spaces(text)) || !is_utf8(text)) return std::optional<JsonValue>();
  auto value = read_json_tree(record, kDeepestJson, kMostJsonValues);
  if (!value) {
    if (auto excess = excess_of(text)) return *std::move(excess);
  }
  if (!value || !has_only_numbers(*value)) return std::optional<JsonValue>();
  if (!is_exact(*value)) {
    return Error{.code = Code::kUnsupported,
                 .detail = "a string of the JSON text has half of a surrogate pair, which UTF-8 cannot have"};
  }
  return value;
}

std::vector<const JsonValue*> members_of(const JsonValue& object) {
  std::unordered_map<std::string_view, const JsonValue*> last;
  for (const JsonValue& member : object.values) last[member.key] = &member;
  std::vector<const JsonValue*> members;
  members.reserve(last.size());
  for (const JsonValue& member : object.values) {
    if (last[member.key] == &member) members.push_back(&member);
  }
  return members;
}

void write_json(JsonWriter& writer, const JsonValue& value) {
  switch (value.type) {
    case JsonType::kObject:
      writer.begin_object();
      write_members(writer, value);
      return writer.end_object();
    case JsonType::kArray:
      writer.begin_list();
      for (const JsonValue& element : value.values) write_json(writer, element);
      return writer.end_list();
    case JsonType::kString: return writer.string(value.text);
    case JsonType::kNumber: return writer.literal(value.text);
    case JsonType::kWord: break;
  }
  using OfDouble = std::numeric_limits<double>;
  if (value.text == "NaN") return writer.number(OfDouble::quiet_NaN());
  if (value.text == "Infinity") return writer.number(OfDouble::infinity());
  if (value.text == "-Infinity") return writer.number(-OfDouble::infinity());
  writer.literal(value.text);
}

}  // namespace recordfs
