// The counts of shards that saved indexes have.
#pragma once

#include <optional>
#include <string>

#include "core/base/request_context.h"
#include "core/base/source.h"
#include "core/dataset/data_set.h"
#include "core/store/shared_resources.h"

namespace recordfs {

// Returns the counts of a file that a saved index has, for KnownCounts. nullopt if there is none, if the file may have
// been changed since, or if it has damage, which is reported when it is opened. Thread-safe.
std::optional<ShardCounts> saved_counts(const RequestContext& context, const StoreResources& services,
                                        const SourceId& source, ScanDetail detail);
// The same, for the regular file at a path. May block.
std::optional<ShardCounts> saved_counts(const RequestContext& context, const StoreResources& services,
                                        const std::string& path, ScanDetail detail);

}  // namespace recordfs
