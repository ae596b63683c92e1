// Parsers of JSON in metadata: the members of one object, or the whole tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs {

enum class JsonType : std::uint8_t { kObject, kArray, kString, kNumber, kWord };

// Returns "object", "array", ... Static storage.
std::string_view to_string(JsonType type);

struct JsonMember {
  std::string key;
  JsonType type = JsonType::kWord;
  std::string value;  // a string's characters in UTF-8, any other value as written
};

struct JsonText {
  JsonType type = JsonType::kWord;  // of the whole text
  std::vector<JsonMember> members;  // of an object; empty if there are more than `most_members`
};

// Parses a text that is one JSON value. Returns nullopt if it is not, or if it nests deeper than `depth`. Any thread.
std::optional<JsonText> read_json(Bytes text, std::uint32_t depth, std::size_t most_members);

// A value, with all values in it.
struct JsonValue {
  std::string key{};  // of a member of an object
  JsonType type = JsonType::kWord;
  std::string text{};               // a string's characters in UTF-8, a number or a word as written
  std::vector<JsonValue> values{};  // of an object or an array, in order; keys may repeat
  bool is_exact = true;             // false: `key` or `text` has U+FFFD for half of a surrogate pair

  // Return the last member with this name; null if there is none. The characters of a member that is a string; empty if
  // there is none. The value of a member that is an integer of 0 or more; nullopt if there is none.
  const JsonValue* find(std::string_view name) const;
  std::string_view string(std::string_view name) const;
  std::optional<std::uint64_t> number(std::string_view name) const;
};

// Parses a text as read_json() does, with everything in it. Returns nullopt also if there are more than `most_values`
// values. Any thread.
std::optional<JsonValue> read_json_tree(Bytes text, std::uint32_t depth, std::size_t most_values);

// Appends a code point in UTF-8.
void append_utf8(std::string& text, std::uint32_t code_point);

}  // namespace recordfs
