// Finds the chunk that covers a byte, without a scan from the beginning.
#pragma once

#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/chunk_info.h"

namespace recordfs::riegeli {

// Returns the chunk with a valid header that covers byte `at`, or nullopt if there is none. Reads the block that
// contains `at` up to a few KiB after `at`, and the header of the next chunk. If that block's header is broken, starts
// from one a few blocks earlier. Fails as Source does. Thread-safe. REQUIRES: at < source.size().
Result<std::optional<ChunkInfo>> find_chunk(const RequestContext& context, const Source& source, const Limits& limits,
                                            Position at);

}  // namespace recordfs::riegeli
