// What a mount has done so far, for people.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/store/record_store.h"

namespace recordfs {

// Lines about the caches, what was read and decoded, memory, and how far the scan of each of the stores has come;
// of many stores only the first. Any thread.
std::vector<std::string> statistics_of(const Services& services,
                                       const std::vector<std::shared_ptr<const RecordStore>>& stores);

}  // namespace recordfs
