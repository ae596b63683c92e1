// The counts of parts that info --tags prints: of a container, of a data set, or of a database.
#pragma once

#include <optional>
#include <string>

#include "core/dataset/damage_reporter.h"
#include "core/dataset/set_reader.h"
#include "core/decoding/json_writer.h"
#include "core/store/part_counts.h"
#include "fusefs/commands/command_context.h"
#include "fusefs/commands/database_reader.h"

namespace recordfs {

// Returns whether there are parts to count: of records, or scalars by their tags.
bool has_parts(const RecordStore& store);

// Reads all records, and counts their parts. Damage is reported, and printed and noted is what else cannot be read.
// Returns nullopt after printing why it failed. `damage` is of the container.
std::optional<PartCounts> count_parts(const RecordStore& store, DamageReporter& damage, CommandContext& context);

// Counts the parts of the records of all shards that could be counted. Returns nullopt if none have parts. Prints and
// notes what cannot be read.
std::optional<PartCounts> parts_of(SetReader& reader, CommandContext& context);

// The same of a database in `directory`: counts the writes that its live tables and logs store, older ones of a key and
// deletions too.
PartCounts parts_of(const DatabaseReader& reader, const std::string& directory, CommandContext& context);

// Returns a list for JSON, with an object for each row.
JsonObject::List parts_list(const PartCounts& parts);

}  // namespace recordfs
