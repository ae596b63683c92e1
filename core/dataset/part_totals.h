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

// Reads all records, and counts their parts, or scalars by their tags. Reports damage, what else cannot be read, and
// that the records have no parts. Returns nullopt after reporting why it failed. `damage` is of the container.
std::optional<PartCounts> count_parts(const RecordStore& store, DamageReporter& damage, Reporter& reporter);

// Counts the parts of the records of all shards that could be counted. Returns nullopt if none have parts. Reports
// what cannot be read, and the first shard that has none.
std::optional<PartCounts> parts_of(SetReader& reader, Reporter& reporter);

// The same of a database in `directory`: counts the writes that its live tables and logs store, older ones of a key and
// deletions too.
using OpenPath = std::function<std::shared_ptr<const RecordStore>(const std::string& path)>;  // null if that fails
PartCounts parts_of(const database::Database& database, const std::string& directory, const OpenPath& open,
                    Reporter& reporter);

// Returns a list for JSON, with an object for each row.
JsonObject::List parts_list(const PartCounts& parts);

}  // namespace recordfs
