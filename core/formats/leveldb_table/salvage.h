// Finds blocks without an index. They are consecutive from the beginning of the file, and checksums show where each
// ends. FORMAT.md, "Without an index".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/index.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {

// The progress of a search for the end of a block.
struct EndSearch {
  std::uint64_t searched = 0;  // bytes of the block searched so far
  std::uint32_t crc = 0;       // CRC of these bytes
};

// Returns whether the end of a block can be found by its checksum.
inline bool is_searchable(const Dialect& dialect) { return dialect.checksum != Checksum::kNone; }

// Largest block whose end is searched for by a checksum that costs more than CRC-32C.
inline constexpr std::uint64_t kMostHashed = 4 << 20;

// Returns whether a block's trailer may have this compression number.
inline bool may_be_type(std::byte number) { return number <= std::byte{7}; }

// Returns whether the block's checksum matches and the block decompresses, which excludes chance matches of the
// checksum. A limit or a missing codec does not count against it. Fails as read_block() does if another attempt may
// have a different result.
Result<bool> block_unpacks(const RequestContext& context, const Source& source, const BlockPlace& place,
                           const Dialect& dialect, const Limits& limits);

struct Found {
  std::optional<BlockPlace> place;  // the block, if its end was found
  EndSearch search;                 // otherwise where to continue
};

// Searches at most `bytes` more bytes for the end of the block that begins at `begin`: the checksum must match, and
// the content must decompress. Stops at `end`. Fails as Source does, and with kOutOfMemory.
Result<Found> find_end(const RequestContext& context, const Source& source, Position begin, Position end,
                       EndSearch from, std::uint64_t bytes, const Dialect& dialect, const Limits& limits);

// The first block of a table whose checksums depend on a context (RocksDB's format version 6 and later).
struct InContext {
  Dialect dialect;  // with the context
  BlockPlace place;
};

// Searches the first 256 KiB for the end of a block that begins at offset 0, if only the footer knew the context: a
// block of entries gives the context that its checksum needs, and the next block must have the same. `dialect`: without
// a context. Fails as read_block() does if another attempt may have a different result.
Result<std::optional<InContext>> find_context(const RequestContext& context, const Source& source,
                                              const Dialect& dialect, const Limits& limits);

// Returns the kind of a block from its content. Fails as read_block() does if another attempt may have a different
// result.
Result<Kind> kind_of_block(const RequestContext& context, const Source& source, const BlockPlace& place,
                           const Dialect& dialect, const Limits& limits);

// --- the search after damage, when neither the begin nor the end of a block is known

// Size of the window of one search. The next window begins half a window later, so a block of more than half a window
// is not found.
inline constexpr std::uint64_t kResyncWindow = 1 << 20;
inline constexpr std::uint64_t kResyncStride = kResyncWindow / 2;

// Only a CRC allows finding a block whose begin is unknown too.
inline bool can_find_after_damage(const Dialect& dialect) {
  return dialect.checksum == Checksum::kCrc32c && dialect.context == 0;
}

// Returns the first valid block of entries in the window from `begin` to at most `end`. Fails as read_block() does if
// another attempt may have a different result. REQUIRES: can_find_after_damage(dialect).
Result<std::optional<BlockPlace>> find_block(const RequestContext& context, const Source& source, Position begin,
                                             Position end, const Dialect& dialect, const Limits& limits);

}  // namespace recordfs::leveldb_table
