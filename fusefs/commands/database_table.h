// The summary of a database directory for people.
#pragma once

#include <string>

#include "core/export/database_reader.h"

namespace recordfs {

// Returns as a table what database_info() returns as an object.
std::string database_table(const std::string& path, const DatabaseReader& reader);

}  // namespace recordfs
