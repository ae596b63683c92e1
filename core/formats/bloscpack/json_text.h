// A JSON parser for metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace recordfs::bloscpack {

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

// Appends a code point in UTF-8.
void append_utf8(std::string& text, std::uint32_t code_point);

}  // namespace recordfs::bloscpack
