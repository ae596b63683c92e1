// What is known of a table at open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/index.h"
#include "core/formats/leveldb_table/wire.h"
#include "core/formats/registry.h"

namespace recordfs::leveldb_table {

struct Survey {
  std::optional<Footer> footer;
  Dialect dialect;
  // Of all blocks and the footer, in file order, apart from each other: the one thing about a container that grows with
  // the file, 16 bytes for each block. Where there is no sound index, of the footer alone.
  std::vector<Piece> pieces;
  std::optional<Error> flaw;  // why there is no index to go by
  // Where all blocks from one on stand as far behind their places as the footer does: these, in file order, apart from
  // each other. Empty where there is an index to go by.
  std::vector<Piece> shifted;
  Dialect shifted_dialect;
  std::uint64_t data_blocks = 0;
  bool has_database_keys = true;
  std::string filter;           // the name of the filter's policy
  bool has_dictionary = false;  // that data blocks are compressed with
  std::optional<BlockPlace> properties;
  std::optional<std::uint32_t> column_family;  // RocksDB's; nullopt where the table does not say it

  bool has_index() const { return !flaw; }
  // Of the block at `begin`.
  Dialect dialect_of(Position begin, Kind kind) const;
};

// How much of a file's head is searched for the end of the first block, where there is no footer.
inline constexpr std::uint64_t kSearchedHead = std::uint64_t{1} << 20;

// How many bits speak for a table: those of the footer's magic, or, with kSearch or where the file's name is one of a
// table, of the first block's checksum. With kHead the block is looked for in the first 64 KiB. Fails as Source does.
Result<int> bid_for(const Source& source, std::string_view file_name, ProbeDepth depth);

// Reads the footer and the indexes. nullopt when neither a footer nor a sound first block is there. Fails as Source
// does, and with kOutOfMemory.
Result<std::optional<Survey>> survey(const Source& source, const Limits& limits);

}  // namespace recordfs::leveldb_table
