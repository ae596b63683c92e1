// What is known of a container, as an object for JSON. All functions are thread-safe.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/decoding/json_writer.h"
#include "core/store/record_store.h"

namespace recordfs {

// Returns info.json of a container: what a few headers show, without a scan. Fails only for reasons that may pass, such
// as kIo or kChanged.
Result<JsonObject> container_info(const RequestContext& context, const RecordStore& store);

// Returns an object for each value: key, type, size, and its value if it is a number, or the text if it is short and
// UTF-8.
JsonObject::List list_of(const std::vector<Attribute>& attributes);

// Adds the members of index/summary.json. `damage` is what a scan of the headers found, as "damage_scope" states.
void add_totals(JsonObject& info, const RecordStore& store, const PrefixSums& totals,
                const std::vector<DamageRow>& damage);

}  // namespace recordfs
