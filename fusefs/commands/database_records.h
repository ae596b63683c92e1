// The keys of a database with their values, as lines of JSON (cat).
#pragma once

#include "core/store/json_line.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/key_range.h"

namespace recordfs {

// Which keys are written, and what of them.
struct DatabaseRecordsOptions {
  const DatabaseView& view;
  const KeyRangeOptions& keys;
  const JsonLineOptions& json;  // without fields
  bool skips_unreadable = false;
};

// Writes a line for each key of the range that has a value, in key order, one column family after the other:
// {"key":"a","value":"1","sequence":7,"operation":"put","size":1,"file":"000005.ldb"}. A value that cannot be read is
// replaced by "error", or its line is left out. Prints and notes errors in `context`.
void write_database_as_json(const DatabaseReader& reader, const DatabaseRecordsOptions& options,
                            CommandContext& context);

}  // namespace recordfs
