#include "core/formats/json_text.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/formats/text_reader.h"

namespace recordfs {
namespace {

constexpr std::uint32_t kHighSurrogates = 0xD800;
constexpr std::uint32_t kLowSurrogates = 0xDC00;
constexpr std::uint32_t kAfterSurrogates = 0xE000;
constexpr std::uint32_t kReplacement = 0xFFFD;

class JsonReader : private TextReader {
 public:
  JsonReader(Bytes text, std::uint32_t depth, std::size_t most)
      : TextReader(text, " \t\n\r"), depth_(depth), most_(most) {}

  std::optional<JsonValue> run_tree() {
    JsonValue top;
    skip_value(0, &top);
    skip_space();
    return cursor_.ok() && cursor_.at_end() ? std::optional(std::move(top)) : std::nullopt;
  }

  std::optional<JsonText> run() {
    JsonText found;
    skip_space();
    found.type = type_here();
    found.type == JsonType::kObject ? read_members(found.members) : skip_value(0);
    skip_space();
    if (!cursor_.ok() || !cursor_.at_end()) return std::nullopt;
    if (found.members.size() > most_) found.members.clear();
    return found;
  }

 private:
  JsonType type_here() const {
    const char c = peek();
    if (c == '{') return JsonType::kObject;
    if (c == '[') return JsonType::kArray;
    if (c == '"') return JsonType::kString;
    const bool is_number = (c == '-' && !as_text(cursor_.rest()).starts_with("-I")) || (c >= '0' && c <= '9');
    return is_number ? JsonType::kNumber : JsonType::kWord;
  }

  void read_members(std::vector<JsonMember>& members) {
    expect('{');
    if (take_if('}')) return;
    do {
      JsonMember member;
      skip_space();
      member.key = read_string();
      expect(':');
      skip_space();
      member.type = type_here();
      const Bytes from = cursor_.rest();
      if (member.type == JsonType::kString) {
        member.value = read_string();
      } else {
        skip_value(1);
        member.value = as_text(from.first(from.size() - cursor_.remaining()));
      }
      if (members.size() <= most_) members.push_back(std::move(member));
    } while (cursor_.ok() && take_if(','));
    expect('}');
  }

  // The functions also set `value`, unless it is null.
  void skip_value(std::uint32_t level, JsonValue* value = nullptr) {
    skip_space();
    if (level > depth_) return cursor_.fail();
    const JsonType type = type_here();
    if (type == JsonType::kObject) return skip_list('}', level, true, value);
    if (type == JsonType::kArray) return skip_list(']', level, false, value);
    const Bytes from = cursor_.rest();
    std::string text;
    if (type == JsonType::kString) text = read_string();
    if (type == JsonType::kNumber) skip_number();
    if (type == JsonType::kWord) skip_word();
    if (value == nullptr) return;
    value->type = type;
    value->is_exact = value->is_exact && !std::exchange(has_replaced_, false);
    value->text = type == JsonType::kString ? std::move(text)
                                            : std::string(as_text(from.first(from.size() - cursor_.remaining())));
  }

  void skip_list(char close, std::uint32_t level, bool has_keys, JsonValue* value) {
    if (value != nullptr) value->type = has_keys ? JsonType::kObject : JsonType::kArray;
    take();
    if (take_if(close)) return;
    do {
      if (value != nullptr && values_++ == most_) return cursor_.fail();
      JsonValue* const inner = value == nullptr ? nullptr : &value->values.emplace_back();
      skip_space();
      if (has_keys) {
        std::string key = read_string();
        if (inner != nullptr) inner->key = std::move(key);
        if (inner != nullptr) inner->is_exact = !std::exchange(has_replaced_, false);
        expect(':');
      }
      skip_value(level + 1, inner);
    } while (cursor_.ok() && take_if(','));
    expect(close);
  }

  void skip_number() {
    constexpr std::string_view kCharacters = "+-.0123456789eE";
    while (kCharacters.find(peek()) != std::string_view::npos && !cursor_.at_end()) take();
  }

  // Python also writes and reads NaN, Infinity and -Infinity.
  void skip_word() {
    std::string word;
    if (peek() == '-') word += take();
    while (((peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z')) && word.size() < 16) word += take();
    if (word == "Infinity" || word == "-Infinity" || word == "NaN" || word == "true" || word == "false" ||
        word == "null")
      return;
    cursor_.fail();
  }

  std::string read_string() {
    if (peek() != '"') cursor_.fail();
    take();
    return read_until('"', [this](std::string& text) { read_escape(text); });
  }

  void read_escape(std::string& text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = take();
    if (c == 'u') return append_utf8(text, read_code_point());
    const auto letter = kLetters.find(c);
    if (letter == std::string_view::npos) return cursor_.fail();
    text.push_back(kMeanings[letter]);
  }

  std::uint32_t read_code_point() {
    const std::uint32_t high = read_four_digits();
    if (high < kHighSurrogates || high >= kAfterSurrogates) return high;
    if (high >= kLowSurrogates || !as_text(cursor_.rest()).starts_with("\\u")) return replacement();
    take();
    take();
    const std::uint32_t low = read_four_digits();
    if (low < kLowSurrogates || low >= kAfterSurrogates) return replacement();
    return 0x10000 + ((high - kHighSurrogates) << 10) + (low - kLowSurrogates);
  }

  // For half of a surrogate pair.
  std::uint32_t replacement() {
    has_replaced_ = true;
    return kReplacement;
  }

  std::uint32_t read_four_digits() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = take();
      const bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_letter && (c < '0' || c > '9')) cursor_.fail();
      value = value << 4 | static_cast<std::uint32_t>(is_letter ? (c & 0x0F) + 9 : c & 0x0F);
    }
    return value;
  }

  const std::uint32_t depth_;
  const std::size_t most_;  // members, or values of a tree
  std::size_t values_ = 0;
  bool has_replaced_ = false;  // since it was last taken
};

}  // namespace

std::string_view to_string(JsonType type) {
  switch (type) {
    case JsonType::kObject: return "object";
    case JsonType::kArray: return "array";
    case JsonType::kString: return "string";
    case JsonType::kNumber: return "number";
    case JsonType::kWord: return "word";
  }
  return "word";
}

std::optional<JsonText> read_json(Bytes text, std::uint32_t depth, std::size_t most_members) {
  return JsonReader(text, depth, most_members).run();
}

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto found =
      std::find_if(values.rbegin(), values.rend(), [&](const JsonValue& one) { return one.key == name; });
  return found == values.rend() ? nullptr : &*found;
}

std::string_view JsonValue::string(std::string_view name) const {
  const JsonValue* const found = find(name);
  return found != nullptr && found->type == JsonType::kString ? std::string_view(found->text) : std::string_view();
}

std::optional<std::uint64_t> JsonValue::number(std::string_view name) const {
  const JsonValue* const found = find(name);
  if (found == nullptr || found->type != JsonType::kNumber) return std::nullopt;
  std::uint64_t value = 0;
  const char* const end = found->text.data() + found->text.size();
  const auto parsed = std::from_chars(found->text.data(), end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

std::optional<JsonValue> read_json_tree(Bytes text, std::uint32_t depth, std::size_t most_values) {
  return JsonReader(text, depth, most_values).run_tree();
}

void append_utf8(std::string& text, std::uint32_t code_point) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte & 0xFF)); };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

}  // namespace recordfs
