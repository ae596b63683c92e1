// Files with generated text: JSON and tab-separated tables. All functions are thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/decoding/json_writer.h"
#include "core/store/record_store.h"

namespace recordfs {

// Returns info.json of a container: what a few headers show, without a scan. Fails only for reasons that may pass, such
// as kIo or kChanged.
Result<JsonObject> container_info(const RequestContext& context, const RecordStore& store);

// Returns info.json of a chunk. Verifies the chunk's checksums, which reads the chunk. Fails as container_info() does.
Result<std::string> chunk_info(const RequestContext& context, const RecordStore& store, const ChunkInfo& chunk);

// Returns the state of a chunk's checksums, as in its info.json: "good", "none" (the chunk has no checksums), "bad", or
// "unchecked" (the codec is missing or a limit was exceeded). Static storage. Reads the chunk. Fails as
// container_info() does.
Result<std::string_view> checksum_of(const RequestContext& context, const RecordStore& store, const ChunkInfo& chunk);

// Adds the members of index/summary.json. `damage` is what a scan of the headers found, as "damage_scope" states.
void add_totals(JsonObject& info, const RecordStore& store, const PrefixSums& totals,
                const std::vector<DamageRow>& damage);

// Returns index/damage.tsv.
std::string damage_table(const std::vector<DamageRow>& damage);

// Returns names.tsv: a row for each key whose file has another name, with the percent-encoded key. REQUIRES: as many
// names as keys.
std::string names_table(const std::vector<std::string_view>& keys, const std::vector<std::string>& names);

}  // namespace recordfs
