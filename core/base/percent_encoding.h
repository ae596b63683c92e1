// Keys as names of files, and names in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace recordfs {

// Returns the key with some bytes replaced by %XX: those that are not valid UTF-8, control characters, "%", and
// characters in `also`. Different keys have different results.
std::string percent_encoded(std::string_view key, std::string_view also);

// Replaces each %XX by the byte. Leaves "%" without two hexadecimal digits as it is.
std::string percent_decoded(std::string_view name);

// Reverses percent_encoded() with the same `also`. Returns nullopt if `name` is not the result for any key.
std::optional<std::string> percent_decoded(std::string_view name, std::string_view also);

}  // namespace recordfs
