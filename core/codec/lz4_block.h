// Bare LZ4 blocks. A block stores neither its decompressed size nor its end. Therefore it is not a codec of codec.h,
// and the caller must supply both. Thread-safe.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"

namespace recordfs {

// Decompresses all of `stored` into exactly `size` bytes. `dictionary`: bytes to which the block may refer as if they
// preceded its output. Allocates at once if `stored` can produce that many bytes.
//
// Fails with kDamage if the block is invalid or produces another number of bytes. Fails with kUnsupported for more than
// 2 GB or if this build lacks LZ4, and with kOutOfMemory. Positions in errors are 0.
//
// REQUIRES: the caller has checked `size` against Limits.
Result<Buffer> decompress_lz4_block(const RequestContext& context, Bytes stored, std::uint64_t size,
                                    Bytes dictionary = {});

}  // namespace recordfs
