// Everything known about a table at open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/index.h"
#include "core/formats/leveldb_table/tail.h"
#include "core/formats/leveldb_table/wire.h"
#include "core/formats/registry.h"

namespace recordfs::leveldb_table {

struct Survey {
  std::optional<Footer> footer;
  Dialect dialect;
  // All blocks and the footer, in file order, disjoint: the only state of a container that grows with the file, 16
  // bytes for each block. Only the footer if there is no valid index.
  std::vector<Piece> pieces;
  std::optional<Error> flaw;  // why there is no usable index
  // Blocks at the end of the file that are as far from their places as the footer is, in file order, disjoint. Empty
  // if there is a usable index.
  std::vector<Piece> shifted;
  Dialect shifted_dialect;
  std::uint64_t data_blocks = 0;
  bool has_database_keys = true;
  Tail tail;  // without a usable index: only the properties, and what the shifted blocks need

  bool has_index() const { return !flaw; }
  // Returns the dialect of the block at `begin`.
  Dialect dialect_of(Position begin, Kind kind) const;
};

// Length of the search for the end of the first block, if there is no footer.
inline constexpr std::uint64_t kSearchedHead = std::uint64_t{1} << 20;

// Returns the evidence for a table in bits: those of the footer's magic or, with kSearch or if the file's name is a
// table's, of the first block's checksum. With kHead, the block is searched for in the first 64 KiB. Fails as Source
// does.
Result<int> bid_for(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth);

// Reads the footer and the indexes. Returns nullopt if there is neither a footer nor a valid first block. Fails as
// Source does, and with kOutOfMemory.
Result<std::optional<Survey>> survey(const RequestContext& context, const Source& source, const Limits& limits);

}  // namespace recordfs::leveldb_table
