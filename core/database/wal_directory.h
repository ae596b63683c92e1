// Finds the directory of a database's write-ahead logs if that is not its own (RocksDB's wal_dir).
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"

namespace recordfs::database {

struct WalDirectory {
  std::string name{};              // relative to the database's directory, or absolute; empty: the database's own
  std::optional<Error> problem{};  // kNotFound: there is none. kUnsupported: it may be another one
};

// Returns the directory that `wal_dir`, as RocksDB's OPTIONS file states it, means for the database in `directory`:
// relative to that, or with the same last component beside it, if the database was moved; or as it is stated. A
// directory of another owner than the database's is not used. Blocks. Thread-safe.
WalDirectory find_wal_directory(const std::string& directory, const std::string& wal_dir);

}  // namespace recordfs::database
