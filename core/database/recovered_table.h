// Describes a table that no MANIFEST names, from its own content.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/database/directory.h"
#include "core/database/manifest.h"

namespace recordfs::database {

// A directory of a database without a usable MANIFEST, or a file that was given by its name. The order of the keys of a
// given table is tested wholly, unless it is large.
enum class TableOrigin : std::uint8_t { kDirectory, kGiven };

// Adds a table to a set, with its range of keys, and adds what it says of its family. A table without entries is not
// added. Returns why the table cannot be read; nullopt if it can. Fails with failures that may pass, and as
// OpenFiles::open(). Any thread.
Result<std::optional<Error>> recover_table(const RequestContext& context, OpenFiles& files, const DirectoryEntry& entry,
                                           const Limits& limits, TableOrigin origin, FileSet& set);

// Removes the default family from a set if `given`, the files that were given by their names, are tables of other
// families only.
void drop_unused_default_family(const std::vector<DirectoryEntry>& given, FileSet& set);

}  // namespace recordfs::database
