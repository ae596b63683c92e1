// Groups tables into sorted runs, so that a merge needs one block of each run and a lookup one table of it.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/bytes.h"
#include "core/database/key_order.h"
#include "core/database/manifest.h"

namespace recordfs::database {

// Tables whose key ranges do not overlap, in the order of their keys. If the order of keys is unknown, all tables of a
// level in the order of their numbers.
struct Run {
  std::vector<const TableFile*> tables;

  // Returns the index of the first table that has keys at or after `user_key`; tables.size() if there is none.
  std::size_t first_from(const KeyOrder& order, Bytes user_key) const;
};

// Returns the runs of the tables. Does not rely on levels: tables that overlap are in different runs. The tables must
// outlive the runs.
std::vector<Run> runs_of(std::vector<const TableFile*> tables, const KeyOrder& order);

}  // namespace recordfs::database
