// Finds the data blocks that a lost part of a table's index listed, by their checksums.
#pragma once

#include <cstdint>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/leveldb_table/index.h"
#include "core/formats/leveldb_table/wire.h"

namespace recordfs::database {

// The bytes [begin, end) of a table, in which the blocks were.
struct LostExtent {
  Position begin = 0;
  Position end = 0;
};

// Returns the data blocks in `extent`, each with its own last key, in file order. Blocks of other kinds, and damaged
// ones, are not listed. `dialect` is that of data blocks, with their dictionary. Fails with kIo, kOutOfMemory and
// kInterrupted. Any thread.
Result<leveldb_table::BlockList> find_data_blocks(const RequestContext& context, const Source& source,
                                                  const LostExtent& extent, const leveldb_table::Dialect& dialect,
                                                  const Limits& limits);

}  // namespace recordfs::database
