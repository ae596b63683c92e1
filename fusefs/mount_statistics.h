// Statistics of a mount, for its log and its metrics.
#pragma once

#include <string>
#include <vector>

#include "core/store/record_store.h"
#include "fusefs/metrics.h"
#include "fusefs/tree/mount_tree.h"

namespace recordfs {

// Returns lines about caches, bytes read and decoded, memory, and the scans of the first sources. Thread-safe.
std::vector<std::string> statistics_of(const StoreResources& services, MountTree& tree);

// Returns the counts of what the mount shows now. Thread-safe.
SourceCounts source_counts(MountTree& tree);

}  // namespace recordfs
