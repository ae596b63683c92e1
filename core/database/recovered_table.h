// Describes a table that no MANIFEST names, from its own content.
#pragma once

#include <optional>

#include "core/base/limits.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/database/directory.h"
#include "core/database/manifest.h"

namespace recordfs::database {

// Adds a table to a set, with its range of keys, and adds what it says of its family. A table without entries is not
// added. Returns why the table cannot be read; nullopt if it can. Fails with failures that may pass, and as
// OpenFiles::open(). Any thread.
Result<std::optional<Error>> recover_table(const RequestContext& context, OpenFiles& files, const DirectoryEntry& entry,
                                           const Limits& limits, FileSet& set);

}  // namespace recordfs::database
