// What a scan finds, as JSON: of a container beside its info.json, and of a data set.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/dataset/damage_reporter.h"
#include "core/dataset/set_reader.h"
#include "core/decoding/json_writer.h"
#include "core/store/record_store.h"

namespace recordfs {

// Adds the results of a scan of all headers to what container_info() returned, with up to 1000 changes of metadata.
// Reports the damage. Waits for the scan, and fails as that.
Result<void> add_scanned(const RecordStore& store, unsigned threads, DamageReporter& damage, JsonObject& info);

// Counts the records. Returns the totals, those of each format, and a row for each shard and for consecutive missing
// ones. nullopt if counting fails, which is reported.
std::optional<JsonObject> set_info(SetReader& reader);

}  // namespace recordfs
