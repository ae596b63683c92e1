// Checks of a database as a whole: whether its MANIFEST and its directory agree, and whether its blobs can be read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "fusefs/commands/verification.h"

namespace recordfs {

// The kind of finding for a file that the database does not use.
inline constexpr std::string_view kSurplus = "surplus";

// Findings by file: its name in the directory, or an empty one for the database as a whole.
using DatabaseFindings = std::map<std::string, std::vector<Finding>>;

// What checks of a database have in common with those of its files.
struct DatabaseCheck {
  std::vector<std::string> files;  // MANIFESTs, logs and tables of the directory, which can be verified one by one
  DatabaseFindings findings;
};

// Finds files that are missing, surplus, or of another size than the MANIFEST says, damage of CURRENT, MANIFEST and
// logs, and values that cannot be read from blob files. Reads no tables unless there are blob files. Fails like
// Database::open(). Thread-safe.
Result<DatabaseCheck> check_database(const std::string& directory, const Limits& limits);

// Counts the keys that may have a newer value, or may be deleted, in what is damaged; nullopt if there are none. Reads
// all keys, or until a signal comes (Interruption) those before. Fails like Database::open(). Thread-safe.
Result<std::optional<Finding>> find_stale_keys(const std::string& directory, const Limits& limits);

}  // namespace recordfs
