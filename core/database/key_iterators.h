// Iterates over the keys of a family: in their order by a merge, or in file order if the order is not known.
#pragma once

#include <cstdint>
#include <memory>

#include "core/database/database.h"
#include "core/database/present_state.h"

namespace recordfs::database {

// Returns an iterator over the keys of the present state at its first move.
std::unique_ptr<KeyIterator> iterate_keys(std::shared_ptr<PresentState> present, std::uint32_t family, KeyRange range,
                                          const Snapshot& at);

}  // namespace recordfs::database
