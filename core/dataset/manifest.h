// Data sets that a text file names.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/dataset/shard_list.h"

namespace recordfs {

// Returns the shards that a manifest names: a text file with a path on each line, relative to the manifest's directory.
// Empty lines and those that begin with # are skipped; a line may end with CR LF. A line is one path, and no pattern.
// "-" is standard input, whose paths are relative to the current directory. Missing files are found when they are
// opened. Fails with kDamage for a line with a NUL byte or of more than path_bytes, and otherwise as list_shards().
// Thread-safe.
Result<ShardList> read_manifest(const std::string& path, const NamingBounds& bounds = {});

}  // namespace recordfs
