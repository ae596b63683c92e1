// Listings of directories by web servers.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/fetch/origin.h"

namespace recordfs::fetch {

// Of what a listing says of an object; a longer text is left out.
inline constexpr std::size_t kLongestListedVersion = 256;

// Returns whether a name can be that of an entry: it is not empty, ".", or "..", and has neither a slash nor a zero
// byte.
bool is_entry_name(std::string_view name);

// Returns the error of a listing that has a file without a valid size. Such a file must not be shown as an empty one,
// which the kernel never reads.
Error listed_without_size();

// Returns the entries of a directory in the JSON of nginx's autoindex module. Leaves out what is neither a
// file nor a directory. Fails with kUnsupported if the text is another kind of page, or has entries without name or
// type, and with kDamage if it is malformed, or has a file without a size.
Result<Origin::Page> parse_autoindex(std::string_view body);

}  // namespace recordfs::fetch
