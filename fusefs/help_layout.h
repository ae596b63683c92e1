// How the text of --help is fitted to a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace recordfs {

// Returns the width for text on standard output: of the terminal, or 80 if it is none.
std::size_t help_width();

// Breaks lines at spaces, so that they have at most `width` characters. A paragraph must be one line. The text after a
// column of names stays in its column. A word that is longer than a line stays whole.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace recordfs
