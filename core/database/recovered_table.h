// Describes a table that no MANIFEST names, from its own content.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/database/directory.h"
#include "core/database/loss.h"
#include "core/database/manifest.h"

namespace recordfs::database {

// Bytes of tables whose keys are read to see if they are in bytewise order. Of the others the index is tested.
inline constexpr std::uint64_t kMostTestedForOrder = 64 << 20;

// The tables of a database without its MANIFEST.
struct RecoveredTables {
  FileSet& set;
  std::vector<Loss>& losses;  // writes that may be lost outside the ranges of keys of the tables
  std::uint64_t untested_bytes = kMostTestedForOrder;  // that may still be read
  // The keys of other tables that the deletions of ranges in a file may hide without a reason.
  struct Overreach {
    std::string file;
    Loss loss;
  };
  std::vector<Overreach> overreaching{};
};

// Adds a table, with its range of keys, and adds what it says of its family. A table without entries is not added.
// Returns why the table, or all its blocks, cannot be read; nullopt if they can. Fails with failures that may pass, and
// as OpenFiles::open(). Any thread.
Result<std::optional<Error>> recover_table(const RequestContext& context, OpenFiles& files, const DirectoryEntry& entry,
                                           const Limits& limits, RecoveredTables& tables);

// Returns the deletions of ranges in tables that may hide keys of another table of their family without a reason.
// RocksDB stores a deletion in each table that a compaction writes, and only the MANIFEST says where it ends for the
// table. Another table may have newer writes with the number 0 after that place.
std::vector<RecoveredTables::Overreach> overreaching_deletions(RecoveredTables tables);

// Removes the default family from a set if `given`, the files that were given by their names, are tables of other
// families only.
void drop_unused_default_family(const std::vector<DirectoryEntry>& given, FileSet& set);

}  // namespace recordfs::database
