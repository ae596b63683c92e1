// Compares different views of the same bytes: by record, by chunk, as streams, as tables.
#pragma once

#include "tests/fuzz/mounted_input.h"

namespace recordfs::fuzz {

// Reads all of a small container, or the beginning of a large one, in every way. Ends the program if two views
// disagree.
void compare_views(const MountedInput& mounted, Bytes file);

}  // namespace recordfs::fuzz
