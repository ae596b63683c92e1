// Finds a block after damage, when neither its begin nor its end is known. FORMAT.md, "Without an index".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {

// Size of the window of one search. The next window begins half a window later, so a block of more than half a window
// is not found.
inline constexpr std::uint64_t kResyncWindow = 1 << 20;
inline constexpr std::uint64_t kResyncStride = kResyncWindow / 2;

// Only a CRC allows finding a block whose begin is unknown too.
inline bool can_find_behind_damage(const Dialect& dialect) {
  return dialect.checksum == Checksum::kCrc32c && dialect.context == 0;
}

// Returns the first valid block of entries in the window from `begin` to at most `end`. Fails as read_block() does if
// another attempt may have a different result. REQUIRES: can_find_behind_damage(dialect).
Result<std::optional<BlockPlace>> find_block(const Source& source, Position begin, Position end, const Dialect& dialect,
                                             const Limits& limits);

}  // namespace recordfs::leveldb_table
