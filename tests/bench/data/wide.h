// Makes transposed Riegeli chunks from messages of Kind::kWide. See core/formats/riegeli/FORMAT.md for the layout.
#pragma once

#include "tests/bench/data/form.h"

namespace recordfs::bench {

// Encodes messages that all have the same fields, each of 8 bytes or bytes, in the same order, as Riegeli's own writer
// does by default: one buffer for each field, one bucket for all buffers. Ends the program on other records.
PackedChunk wide_chunk(const Batch& batch, Packing packing);

}  // namespace recordfs::bench
