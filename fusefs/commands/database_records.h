// The keys of a database with their values, as lines of JSON (cat).
#pragma once

#include <string>

#include "fusefs/commands/command_context.h"

namespace recordfs {

// Writes a line for each key that has a value, in key order, one column family after the other:
// {"key":"a","value":"1","sequence":7,"operation":"put","size":1,"file":"000005.ldb"}. A value that cannot be read is
// replaced by "error". Prints and notes errors in `context`.
void write_database_as_json(const std::string& path, CommandContext& context);

}  // namespace recordfs
