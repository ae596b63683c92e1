// Makes transposed Riegeli chunks from messages of Kind::kEvents. See core/formats/riegeli/FORMAT.md for the layout.
#pragma once

#include "tests/bench/data/form.h"

namespace recordfs::bench {

// Encodes messages that all have the same fields in the same order, as Riegeli's own writer does: one buffer for each
// field, one bucket for all buffers, a node for each varint length that occurs. Ends the program on other records.
PackedChunk transposed_chunk(const Batch& batch, Packing packing);

}  // namespace recordfs::bench
