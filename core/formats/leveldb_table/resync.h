// Finds a block behind damage, where neither its beginning nor its end is known. FORMAT.md, "Without an index".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {

// So many bytes are searched at once, and the next search begins half of them further on: no block of more than half a
// window is found.
inline constexpr std::uint64_t kResyncWindow = 1 << 20;
inline constexpr std::uint64_t kResyncStride = kResyncWindow / 2;

// Only CRCs let a block be found whose beginning is not known either.
inline bool can_find_behind_damage(const Dialect& dialect) {
  return dialect.checksum == Checksum::kCrc32c && dialect.context == 0;
}

// The first sound block of entries that stands in the window that begins at `begin` and ends at `end` at the latest.
// Fails as read_block() does where another try may end otherwise. REQUIRES: can_find_behind_damage(dialect).
Result<std::optional<BlockPlace>> find_block(const Source& source, Position begin, Position end, const Dialect& dialect,
                                             const Limits& limits);

}  // namespace recordfs::leveldb_table
