// From a directory to a LevelDB or RocksDB database that is mounted as its live state.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/store/record_store.h"
#include "fusefs/options.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// Opens the database in a directory, which files/ of the mount shows as `files`. `shown`: its name in the log. Its
// files are found later through a descriptor, so the mount may cover them. Their owners and permissions are those that
// a reader has for each of them. A database of another storage is shown as it is now, without files/. Fails like
// database::Database::open(). `options` and `services` must outlive the result.
Result<DatabaseSource> open_database(const std::string& path, std::shared_ptr<const SourceTree> files,
                                     const std::string& shown, const Options& options, const StoreResources& services);

// Returns the directory that the newest OPTIONS file of a database in `path` states for its write-ahead logs, if that
// is another one; otherwise, and on errors, an empty string. A confined child process reads the file. REQUIRES: the
// process has one thread.
std::string wal_directory_of(const std::string& path);

}  // namespace recordfs
