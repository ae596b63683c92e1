// Text of HTML pages.
#pragma once

#include <string>
#include <string_view>

namespace recordfs {

// Return `text` as HTML that shows it and does nothing else, whatever its bytes: in an element, or in an attribute with
// double quotes. Invalid UTF-8 and control characters become "\xHH". html_lines() keeps newlines and tabs.
std::string html(std::string_view text);
std::string html_lines(std::string_view text);

// The same in an element that keeps the direction of the text, and characters that change it, to itself.
std::string html_isolated(std::string_view text);

}  // namespace recordfs
