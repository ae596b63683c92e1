// The order of file names that contain numbers.
#pragma once

#include <string_view>

namespace recordfs {

// Returns whether `one` is before `other`: text byte by byte, and runs of decimal digits by their value, so that
// "part-9" is before "part-10". Numbers may have any length. Of names that differ only in leading zeros, the one with
// fewer zeros at the first difference comes first. A strict weak order, in which only equal names are equivalent.
bool is_before(std::string_view one, std::string_view other);

}  // namespace recordfs
