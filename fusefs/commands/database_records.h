// The keys of a database, which `keys` lists, and which `cat` writes with their values.
#pragma once

#include <cstdint>

#include "core/store/json_line.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"
#include "fusefs/commands/key_range.h"

namespace recordfs {

// Which keys are written, and how.
struct KeyListOptions {
  enum class Form : std::uint8_t { kEscaped, kNull, kJson };

  const DatabaseView& view;
  const KeyRangeOptions& keys;
  Form form = Form::kJson;
  bool is_of_all_families = false;  // if the view names none
  JsonLineOptions json{};           // of kJson; `has_record`: with the values
  bool skips_unreadable = false;    // leaves out keys whose value cannot be read
};

// Writes a line for each key of the range that has a value, in key order, one column family after the other. A value
// that cannot be read is replaced by "error". Prints and notes what fails.
void write_keys(DatabaseReader& reader, const KeyListOptions& options, CommandContext& context);

}  // namespace recordfs
