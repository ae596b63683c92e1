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

// Adds a table to a set, with its range of keys, and adds what it says of its family. A table without entries is not
// added. `untested`: what remains of kMostTestedForOrder for the tables of a database. Adds writes of the table that
// may be lost outside that range to `losses`. Returns why the table, or all its blocks, cannot be read; nullopt if they
// can. Fails with failures that may pass, and as OpenFiles::open(). Any thread.
Result<std::optional<Error>> recover_table(const RequestContext& context, OpenFiles& files, const DirectoryEntry& entry,
                                           const Limits& limits, std::uint64_t& untested, FileSet& set,
                                           std::vector<Loss>& losses);

// Removes the default family from a set if `given`, the files that were given by their names, are tables of other
// families only.
void drop_unused_default_family(const std::vector<DirectoryEntry>& given, FileSet& set);

}  // namespace recordfs::database
