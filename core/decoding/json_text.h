// Appends the elements of JSON (RFC 8259) to a string. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

// Appends a quoted and escaped string. REQUIRES: `value` is UTF-8.
void append_json_string(std::string& text, std::string_view value);

// Returns how many bytes append_json_string() appends.
std::uint64_t json_string_size(std::string_view value);

// Appends bytes as a base64 string.
void append_json_base64(std::string& text, Bytes bytes);

// Appends bytes as a member: "NAME":"..." if they are UTF-8, otherwise "INSTEAD":"..." in base64. REQUIRES: the names
// need no escaping.
void append_json_bytes(std::string& text, std::string_view name, std::string_view instead, Bytes bytes);

}  // namespace recordfs
