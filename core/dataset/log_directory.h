// Directories of logs, as TensorBoard and wandb write them: a subdirectory for each run.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/shard_list.h"

namespace recordfs {

// Returns the files with names of runs (has_run_name) in all directories below one, but not in itself: directory by
// directory, and both in natural order. Without what is hidden. A link to a directory is followed if it leads out of
// the directory, and each directory is listed once. Fails with kLimit beyond the bounds, 64 levels or 100,000
// directories, and as Storage::list(); the detail begins with a path. Thread-safe.
Result<std::vector<std::string>> runs_below(const std::string& directory, const NamingBounds& bounds);

}  // namespace recordfs
