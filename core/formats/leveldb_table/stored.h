// Reads one block: verifies and decompresses it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {

// Returns the content of the block at `place`. Fails with kDamage, kUnsupported (its compression), kLimit, and as
// Source does, always with the block's position. Any thread. REQUIRES: the block and its trailer fit the source.
Result<Buffer> read_block(const RequestContext& context, const Source& source, const BlockPlace& place,
                          const Dialect& dialect, const Limits& limits);

// The same for bytes in memory: `stored` is the block with its trailer, already verified.
Result<Buffer> unpack_block(const RequestContext& context, Bytes stored, Position begin, const Dialect& dialect,
                            const Limits& limits);

// Returns the codec in the block's trailer, "-" if unknown. Static storage. Fails as Source does.
Result<std::string_view> codec_of(const RequestContext& context, const Source& source, const BlockPlace& place,
                                  const Dialect& dialect);

}  // namespace recordfs::leveldb_table
