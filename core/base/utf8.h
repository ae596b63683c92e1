// Text from untrusted bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace recordfs {

// Returns the length in bytes, 1 to 4, of the character at the beginning of `text`. Returns 0 if `text` is empty or
// does not begin with valid UTF-8 (RFC 3629: no surrogates, no overlong forms).
std::size_t utf8_character(std::string_view text);

bool is_utf8(std::string_view text);

// Returns whether the first character is a control character: of ASCII, DEL, or U+0080 to U+009F. REQUIRES:
// utf8_character(text) > 0.
bool is_control(std::string_view text);

// Returns `text` on one line: each byte of invalid UTF-8 becomes "\xHH", and so does each byte of a control character.
std::string printable(std::string_view text);

}  // namespace recordfs
