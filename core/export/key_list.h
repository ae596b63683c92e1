// The keys of a database as lines, alone (keys) or with their values (cat).
#pragma once

#include <cstdint>
#include <string>

#include "core/database/database.h"
#include "core/export/database_reader.h"
#include "core/output/text_output.h"
#include "core/store/json_line.h"

namespace recordfs {

// Which keys are written, and how.
struct KeyListOptions {
  enum class Form : std::uint8_t { kEscaped, kNull, kJson };

  const std::string& family;  // by name or number; empty: the default one, or all of them
  const database::Snapshot& at;
  const database::KeyRange& range;
  std::uint64_t limit = UINT64_MAX;
  Form form = Form::kJson;
  bool is_of_all_families = false;  // if `family` is empty
  JsonLineOptions json{};           // of kJson; `has_record`: with the values
  bool skips_unreadable = false;    // leaves out keys whose value cannot be read
};

// Writes a line for each key of the range that has a value, in key order, one column family after the other. A value
// that cannot be read is replaced by "error". Reports what fails.
void write_keys(DatabaseReader& reader, const KeyListOptions& options, TextOutput& output);

}  // namespace recordfs
