// What the terminal of this process can show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace recordfs {

// Returns whether the locale of LC_ALL, LC_CTYPE or LANG is one of UTF-8.
bool shows_utf8();

// Returns whether a line on the terminal can be erased and written again, by TERM.
bool can_erase_line();

// Returns the number of columns of the terminal `descriptor`; 0 if it is unknown.
std::size_t columns_of(int descriptor);

// Returns whether `descriptor` is a terminal that shows only ASCII.
bool is_ascii_terminal(int descriptor);

// Returns text in which each byte outside of ASCII is "\xHH".
std::string ascii_of(std::string_view text);

}  // namespace recordfs
