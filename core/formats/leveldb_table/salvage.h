// Finds blocks without an index. They stand one behind the other from the beginning of the file on, and where one ends
// its checksum tells. FORMAT.md, "Without an index".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/index.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::leveldb_table {

// How far a search for the end of a block has come.
struct EndSearch {
  std::uint64_t searched = 0;  // bytes of the block
  std::uint32_t crc = 0;       // of these
};

// Whether the end of a block can be found by its checksum.
inline bool is_searchable(const Dialect& dialect) { return dialect.checksum != Checksum::kNone; }

// So long a block's end, at the most, is searched for by a checksum that costs more than CRC-32C.
inline constexpr std::uint64_t kMostHashed = 4 << 20;

// Whether a block's trailer may have this number for its compression.
inline bool may_be_type(std::byte number) { return number <= std::byte{7}; }

// Whether the block's checksum matches, and the block unpacks: what a checksum says by chance does not. A limit or a
// codec that is missing is no judgement. Fails as read_block() does where another try may end otherwise.
Result<bool> block_unpacks(const Source& source, const BlockPlace& place, const Dialect& dialect, const Limits& limits);

struct Found {
  std::optional<BlockPlace> place;  // the block, where its end was found
  EndSearch search;                 // where to go on otherwise
};

// Searches `bytes` more bytes, at the most, for the end of a block that begins at `begin`: one whose checksum matches
// and whose content can be unpacked. Looks no further than `end`. Fails as Source does, and with kOutOfMemory.
Result<Found> find_end(const Source& source, Position begin, Position end, EndSearch from, std::uint64_t bytes,
                       const Dialect& dialect, const Limits& limits);

// What a block is, by its content. Fails as read_block() does where another try may end otherwise.
Result<Kind> kind_of_block(const Source& source, const BlockPlace& place, const Dialect& dialect, const Limits& limits);

}  // namespace recordfs::leveldb_table
