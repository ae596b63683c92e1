// Checks of a database as a whole: whether its MANIFEST and its directory agree, and whether its blobs can be read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/database/database.h"
#include "fusefs/commands/verification.h"

namespace recordfs {

// The kind of finding for a file that the database does not use.
inline constexpr std::string_view kSurplus = "surplus";
// The same for an old log of RocksDB, which keeps logs to write over them, or for readers. Not worth a line.
inline constexpr std::string_view kSpare = "spare";

// Findings by file: its name in the directory, or an empty one for the database as a whole.
using DatabaseFindings = std::map<std::string, std::vector<Finding>>;

// What checks of a database have in common with those of its files.
struct DatabaseCheck {
  // MANIFESTs, logs, tables and blob files of the directory, which can be verified one by one.
  std::vector<database::File> files;
  DatabaseFindings findings;
  // Logs in which records of an older log, or parts of them, may follow the last record, and where they begin.
  std::map<std::string, Position> ends_of_logs;
};

// Returns whether recordfs can compute a checksum of this function.
bool is_known(const database::FileChecksum& checksum);

// Reads a file, and compares its checksum with that in the MANIFEST. Returns nullopt if it matches, or if `goes_on`
// returned false, which is called for each piece. REQUIRES: is_known(checksum). Thread-safe.
std::optional<Finding> compare_checksum(const Source& file, const database::FileChecksum& checksum,
                                        const std::function<bool()>& goes_on);

// Returns the finding for a file that is not a table, or of a kind of table that recordfs does not read; nullopt if
// the database can open it. Thread-safe.
std::optional<Finding> check_table(const std::string& path, const Limits& limits);

// Finds files that are missing, surplus, or of another size than the MANIFEST says, damage of CURRENT, MANIFEST and
// logs, and values that cannot be read from blob files. Reads no tables unless there are blob files. Fails like
// Database::open(). Thread-safe.
Result<DatabaseCheck> check_database(const std::string& directory, const database::Options& options);

// Counts the keys that may have a newer value, or may be deleted, in what is damaged; nullopt if there are none. Reads
// all keys, or until a signal comes (Interruption) those before. Fails like Database::open(). Thread-safe.
Result<std::optional<Finding>> find_stale_keys(const std::string& directory, const database::Options& options);

}  // namespace recordfs
