// Statistics of a mount, for users.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/store/record_store.h"

namespace recordfs {

// Returns lines about caches, bytes read and decoded, memory, and the scans of the first 16 stores. Thread-safe.
std::vector<std::string> statistics_of(const Services& services,
                                       const std::vector<std::shared_ptr<const RecordStore>>& stores);

}  // namespace recordfs
