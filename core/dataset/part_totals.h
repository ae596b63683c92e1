// The counts of parts that info --tags prints: of a container, of a data set, or of a database.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/database/database.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/set_reader.h"
#include "core/decoding/json_writer.h"
#include "core/store/part_counts.h"

namespace recordfs {

// Returns whether there are parts to count: of records, or scalars by their tags.
bool has_parts(const RecordStore& store);

// Reads all records, and counts their parts. Reports damage, and what else cannot be read. Returns nullopt after
// reporting why it failed. `damage` is of the container.
std::optional<PartCounts> count_parts(const RecordStore& store, DamageReporter& damage, Reporter& reporter);

// Counts the parts of the records of all shards that could be counted. Returns nullopt if none have parts. Reports
// what cannot be read.
std::optional<PartCounts> parts_of(SetReader& reader, Reporter& reporter);

// The same of a database in `directory`: counts the writes that its live tables and logs store, older ones of a key and
// deletions too.
using OpenPath = std::function<std::shared_ptr<const RecordStore>(const std::string& path)>;  // null if that fails
PartCounts parts_of(const database::Database& database, const std::string& directory, const OpenPath& open,
                    Reporter& reporter);

// Returns a list for JSON, with an object for each row.
JsonObject::List parts_list(const PartCounts& parts);

}  // namespace recordfs
