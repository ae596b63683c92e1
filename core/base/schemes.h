// The schemes of URLs that name sources.
#pragma once

#include <string>
#include <string_view>

namespace recordfs {

// Returns why a text that names no file is no URL of a source either: " (URLs begin with http:, s3: or hf:)". Empty if
// it is not like "SCHEME://...", or if no storage has a scheme.
std::string note_on_scheme(std::string_view text);

}  // namespace recordfs
