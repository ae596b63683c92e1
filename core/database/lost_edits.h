// Recognizes a MANIFEST that lost its last edits, which looks like that of an older state.
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

// The files of a directory, compared with those that its MANIFEST names, and the writes of its live logs.
struct FilesOnDisk {
  const std::vector<DirectoryEntry>& listing;
  bool is_log_missing = false;
  bool is_any_missing = false;  // of the tables and blob files
  bool is_table_missing = false;
  std::optional<std::uint64_t> first_logged{};  // the first sequence number in the logs; nullopt: they have no writes
  std::uint64_t last_sequence = 0;              // of the writes in the MANIFEST's tables and in the logs
  std::uint32_t last_logged_family = 0;         // the largest number of a family with writes in the logs
};

// Returns whether the log to which a RocksDB wrote when the last edit of its MANIFEST was made is gone. Each edit says
// a number that is not lower than those of all files until then, and only a later edit makes that log obsolete.
// `first_log`: the number of the first live log of the directory; UINT64_MAX: there is none.
bool is_current_log_gone(const FileSet& set, std::uint64_t first_log);

// Returns whether `set` seems to lack edits: the logs have writes of a family that it has not added yet; or it does not
// name all tables, and files that it names are gone, or the logs do not follow its last write, or a table has newer
// writes than the logs, or a RocksDB's MANIFEST ends inside an edit. (A database that was killed also has tables
// without a name, but then the files from which they were made are still there, unless it wrote without a log.) Fails
// with failures that may pass, and as OpenFiles::open(). Any thread.
Result<bool> has_lost_edits(const RequestContext& context, OpenFiles& files, const FileSet& set,
                            const FilesOnDisk& found, const Limits& limits);

}  // namespace recordfs::database
