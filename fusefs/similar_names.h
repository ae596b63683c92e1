// Names that resemble a mistyped word, for messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace recordfs {

// Returns the names that take the fewest edits to reach, joined by " or ", if these are at most 2, or 1 for a short
// word; otherwise an empty string. An edit adds, removes or replaces a letter, or swaps it with the next one.
std::string similar_names(std::string_view word, std::span<const std::string_view> names);

}  // namespace recordfs
