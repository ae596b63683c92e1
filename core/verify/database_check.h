// Checks of files of a database that go beyond their records, and of its keys.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/database/database.h"
#include "core/verify/verification.h"

namespace recordfs {

// Returns the word for a problem of a database, or for a table that cannot be opened. A missing file is damage of it.
std::string_view word_of(const Error& error);

// Returns whether recordfs can compute a checksum of this function.
bool is_known(const database::FileChecksum& checksum);

// Reads a file, and compares its checksum with that in the MANIFEST. Returns nullopt if it matches, or if `goes_on`
// returned false, which is called for each piece. REQUIRES: is_known(checksum). Thread-safe.
std::optional<Finding> compare_checksum(const Source& file, const database::FileChecksum& checksum,
                                        const std::function<bool()>& goes_on);

// Counts the keys that may have a newer value, or may be deleted, in what is damaged; nullopt if there are none. Reads
// all keys, or those before `goes_on` returns false. Fails like Database::open(). Thread-safe.
Result<std::optional<Finding>> find_stale_keys(const std::string& directory, const database::Options& options,
                                               const std::function<bool()>& goes_on);

}  // namespace recordfs
