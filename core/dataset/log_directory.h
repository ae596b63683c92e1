// Directories of logs, as TensorBoard and wandb write them: a subdirectory for each run.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dataset/shard_list.h"

namespace recordfs {

// The directories below one.
struct LogDirectory {
  std::vector<std::string> runs;  // files with names of runs (has_run_name): not those of the directory itself
  // Subdirectories that may not be listed, and paths that may not be examined, with a slash at their ends.
  std::vector<std::string> unreadable;
};

// Returns the runs in all directories below one: directory by directory, and both in natural order. Without what is
// hidden. A link to a directory is followed if it leads out of the directory, and each directory is listed once. A
// remote directory has runs only if it or one of its first 1,000 subdirectories has one directly in it, so that a wrong
// URL causes few requests. Fails with kLimit beyond the bounds, 64 levels or 100,000 directories, and as
// Storage::list(), but not for a subdirectory that may not be listed; the detail begins with a path. Thread-safe.
Result<LogDirectory> runs_below(const std::string& directory, const NamingBounds& bounds);

}  // namespace recordfs
