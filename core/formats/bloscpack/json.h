// JSON, as far as metadata needs it: the members of an object, their values as they stand in the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs::bloscpack {

enum class JsonType : std::uint8_t { kObject, kArray, kString, kNumber, kWord };

// "object", "array", ... Static storage.
std::string_view to_string(JsonType type);

struct JsonMember {
  std::string key;
  JsonType type = JsonType::kWord;
  std::string value;  // a string's characters in UTF-8, anything else as it is written
};

struct JsonText {
  JsonType type = JsonType::kWord;  // of the whole
  std::vector<JsonMember> members;  // of an object; of one with more than `most_members` none
};

// Reads a text that is one JSON value. nullopt where it is none, or nests deeper than `depth`. Any thread.
std::optional<JsonText> read_json(Bytes text, std::uint32_t depth, std::size_t most_members);

// A code point in UTF-8, appended.
void append_utf8(std::string& text, std::uint32_t code_point);

}  // namespace recordfs::bloscpack
