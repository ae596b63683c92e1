// The summary of a database directory.
#pragma once

#include <string>

#include "core/database/database.h"
#include "core/decoding/json_writer.h"
#include "fusefs/commands/database_reader.h"

namespace recordfs {

// Returns the summary as an object: format, manifest, sequence number, column families, files by level, problems.
JsonObject database_info(const database::Database& database);

// Returns the same as a table for people.
std::string database_table(const std::string& path, const DatabaseReader& reader);

}  // namespace recordfs
