// Groups tables into sorted runs, so that a merge needs one block of each run and a lookup one table of it.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/bytes.h"
#include "core/database/key_order.h"
#include "core/database/manifest.h"

namespace recordfs::database {

// Returns whether a table has neither entries nor deletions of ranges for a user's key, although that is the last key
// that the MANIFEST states for it. RocksDB states the end of a deletion in this way, also where it cuts one between two
// tables: the next table may begin with the key. `order` is that of the stored keys.
bool ends_short_of(const TableFile& table, const KeyOrder& order, Bytes user_key);

// Tables whose key ranges do not overlap, in the order of their keys. If the order of keys is unknown, all tables of a
// level in the order of their numbers.
struct Run {
  std::vector<const TableFile*> tables;

  // Returns the index of the first table that has keys at or after `stored_key`; tables.size() if there is none.
  std::size_t first_from(const KeyOrder& order, Bytes stored_key) const;
};

// Returns the runs of the tables. Does not rely on levels: tables that overlap are in different runs. The tables must
// outlive the runs.
std::vector<Run> runs_of(std::vector<const TableFile*> tables, const KeyOrder& order);

}  // namespace recordfs::database
