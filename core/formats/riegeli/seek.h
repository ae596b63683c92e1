// Finding the chunk that covers a byte through block headers (specification, "Block header"), without a walk
// from the beginning.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/framing.h"

namespace recordfs::riegeli {

// The sound chunk that covers byte `at`; nullopt where there is none. It reads the header of the block that
// holds `at` and the chunk headers from there on: less than a block's worth of walk. Where that block header
// is broken it starts from one a few blocks earlier. Fails as Source does. Any thread.
Result<std::optional<ChunkInfo>> find_chunk(const Framing& framing, Position at);

}  // namespace recordfs::riegeli
