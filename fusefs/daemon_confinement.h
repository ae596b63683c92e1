// Drops the privileges that a mount's daemon does not need.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/dataset/source_spec.h"
#include "core/store/shared_resources.h"
#include "fusefs/options.h"

namespace recordfs {

// Drops all privileges that the daemon does not need to open its sources and to serve them, and logs those that could
// not be dropped. Call it with one thread, before anything is parsed, and before the mount may cover a source.
// `manifest`: the list of --manifest. Fails as places_of_set().
Result<void> confine_daemon(const Options& options, const std::optional<ShardList>& manifest,
                            const StoreResources& services);

// Returns whether sources are found in directories. Files are then opened while the mount is served, perhaps those of
// other owners. Thread-safe.
bool opens_files_later(const Options& options);

}  // namespace recordfs
