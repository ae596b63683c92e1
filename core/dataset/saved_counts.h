// The counts of shards that saved indexes have.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/request_context.h"
#include "core/base/storage.h"
#include "core/dataset/data_set.h"
#include "core/store/record_store.h"
#include "core/store/shared_resources.h"

namespace recordfs {

// Returns the counts of a file that a saved index has, for KnownCounts. nullopt if there is none, if the file may have
// been changed since, if it has damage, which is reported when it is opened, or if `admits` rejects its present state;
// it may be null. May block. Thread-safe.
std::optional<ShardCounts> saved_counts(const RequestContext& context, const StoreResources& services,
                                        const Location& file, ScanDetail detail,
                                        const std::function<bool(const SourceId& id)>& admits = {});

// Returns the number of records of an open container if no scan is needed to count them: because its file is empty,
// ends with the first chunk that has any, or has a saved index as of saved_counts(). May block. Thread-safe.
std::optional<std::uint64_t> known_records(const RecordStore& store, const StoreResources& services,
                                           const Location& file);

}  // namespace recordfs
