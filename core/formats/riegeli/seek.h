// Finds the chunk that covers a byte through block headers (Riegeli specification, "Block header"), without a scan from
// the beginning.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/framing.h"

namespace recordfs::riegeli {

// Returns the chunk with a valid header that covers byte `at`, or nullopt if there is none. Reads the header of the
// block that contains `at` and the following chunk headers, less than one block. If that block header is broken, starts
// from one a few blocks earlier. Fails as Source does. Thread-safe.
Result<std::optional<ChunkInfo>> find_chunk(const Framing& framing, Position at);

}  // namespace recordfs::riegeli
