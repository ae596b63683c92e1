// How much memory a zstd stream asks for before it gives its first byte.
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs::recordio {

// Whether each frame that begins in `stored`, as far as they can be told apart, wants a window of at most `limit`
// bytes. Fails with kLimit, at position 0. Any thread.
Result<void> check_zstd_windows(Bytes stored, std::uint64_t limit);

}  // namespace recordfs::recordio
