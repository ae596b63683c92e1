// Transposed chunks of Riegeli, out of the messages of Kind::kEvents. core/formats/riegeli/FORMAT.md has the layout.
#pragma once

#include "tests/bench/data/form.h"

namespace recordfs::bench {

// As Riegeli's own writer takes apart messages that all have the same fields in the same order: one buffer for each
// field, one bucket for all buffers, a node for each length of a varint that occurs. Ends the program on other records.
PackedChunk transposed_chunk(const Batch& batch, Packing packing);

}  // namespace recordfs::bench
