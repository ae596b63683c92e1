// Compares what different views show of the same bytes: record by record, chunk by chunk, as streams, as tables.
#pragma once

#include "tests/fuzz/mounted_input.h"

namespace recordfs::fuzz {

// Reads all of a small container in every way, and stops the program where two of them do not fit. Of a large one it
// reads the beginning.
void compare_views(const MountedInput& mounted, Bytes file);

}  // namespace recordfs::fuzz
