// The files of the tree whose text is made: JSON and tab-separated tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/store/record_store.h"

namespace recordfs {

// info.json of a container: what is known without a scan. Fails only for passing reasons (kIo, kChanged).
Result<std::string> container_info(const RecordStore& store);

// info.json of a chunk, with the state of its checksums: it is verified now. Fails as container_info does.
Result<std::string> chunk_info(const RecordStore& store, const ChunkInfo& chunk);

// Whether a chunk passes its checksums, as that says it: "good", "none" (there are none), "bad", "unchecked" (a codec
// is missing, or a limit passed). Static storage. It is verified now. Fails as container_info does.
Result<std::string_view> checksum_of(const RecordStore& store, const ChunkInfo& chunk);

// index/summary.json. Its damage is what a scan found, which reads headers: `damage_scope` says so.
std::string summary(const RecordStore& store, const PrefixSums& totals, const std::vector<DamageRow>& damage);

// index/damage.tsv.
std::string damage_table(const std::vector<DamageRow>& damage);

// names.tsv: the keys whose file has another name, in full and percent-encoded.
std::string names_table(const std::vector<std::string_view>& keys, const std::vector<std::string>& names);

}  // namespace recordfs
