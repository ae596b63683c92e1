// Names that resemble a mistyped word, for messages. An edit adds, removes or replaces a byte, or swaps it with the
// next one. All functions are thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recordfs {

// Returns the names that take the fewest edits to reach, joined by " or ", if these are at most 2, or 1 for a short
// word; otherwise an empty string.
std::string similar_names(std::string_view word, std::span<const std::string_view> names);

// Returns at most 10 names on one line, those that take the fewest edits first; a name that has the word in it, or is
// in it, counts as two edits away or less, and one that the word begins with before a dot as none. Names that are
// equally near keep their order. Ends with ", ..." if there are more.
std::string nearest_names(std::string_view word, const std::vector<std::string>& names);

}  // namespace recordfs
