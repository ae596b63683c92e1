// Searches the live keys and values of a database (grep).
#pragma once

#include <cstdint>
#include <string>

#include "core/search/record_matcher.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/grep_options.h"

namespace recordfs {

struct DatabaseSearch {
  const RecordMatcher& matcher;
  Show show = Show::kRecords;  // not kOrdinals
  bool is_json = false;        // lines of JSON instead
  bool is_inverted = false;    // selects the keys that do not match, and whose values do not match either
  std::uint64_t most = UINT64_MAX;
  const std::string& prefix;  // of each line that is not JSON
  bool is_on_terminal = false;
  bool ends_with_zero = false;  // a NUL after each line instead of a newline
};

// Prints the keys that have a value, if the key or the value matches, in key order, one column family after the other.
// Returns how many there are. Prints and notes errors in `context`.
std::uint64_t grep_database(DatabaseReader& reader, const DatabaseSearch& search, CommandContext& context);

}  // namespace recordfs
