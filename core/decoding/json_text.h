// The pieces of which JSON is made (RFC 8259), appended to a text. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace recordfs {

// A string, quoted. REQUIRES: `value` is UTF-8.
void append_json_string(std::string& text, std::string_view value);

// How many bytes that appends.
std::uint64_t json_string_size(std::string_view value);

// Bytes as a string of base64.
void append_json_base64(std::string& text, Bytes bytes);

// Bytes as a member: "NAME":"..." where they are UTF-8, else "INSTEAD":"..." in base64. REQUIRES: the names need no
// escape.
void append_json_bytes(std::string& text, std::string_view name, std::string_view instead, Bytes bytes);

}  // namespace recordfs
