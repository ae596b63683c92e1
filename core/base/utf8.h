// Text from a file, as far as it is text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace recordfs {

// How many bytes the character at the beginning of `text` takes, 1 to 4; 0 where there is none, as `text` is empty or
// its first bytes are no UTF-8 (RFC 3629: no surrogates, nothing longer than it must be). Any thread.
std::size_t utf8_character(std::string_view text);

// Whether all of `text` is UTF-8. Any thread.
bool is_utf8(std::string_view text);

// Whether the character at the beginning is one that a terminal or a table takes for a command: of ASCII, DEL, or of
// the second row of control characters (U+0080 to U+009F). REQUIRES: utf8_character(text) > 0.
bool is_control(std::string_view text);

// `text` in one line that prints: what is no UTF-8, and what is a control character, becomes "\xHH" for each byte.
std::string printable(std::string_view text);

}  // namespace recordfs
