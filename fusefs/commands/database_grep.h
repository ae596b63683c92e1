// Searches the live keys and values of a database (grep).
#pragma once

#include <cstdint>
#include <string>

#include "core/export/database_reader.h"
#include "core/search/record_matcher.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/grep_options.h"
#include "fusefs/commands/grep_printer.h"

namespace recordfs {

// Prints the keys that have a value, if the key or the value matches, in key order, one column family after the other;
// at most `most`. With `options.inverted`, selects the keys that do not match, and whose values do not match either.
// Returns how many there are. Prints and notes errors.
std::uint64_t grep_database(DatabaseReader& reader, const GrepOptions& options, const RecordMatcher& matcher,
                            std::uint64_t most, GrepPrinter& printer, Output& output);

}  // namespace recordfs
