// Iterates over the keys of a family: in their order by a merge, or in file order if the order is not known.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/result.h"
#include "core/database/database.h"
#include "core/database/state.h"

namespace recordfs::database {

// Returns the present state; with an argument, a newer one than that, if the directory has changed. Fails like
// State::load().
using GetState =
    std::function<Result<std::shared_ptr<const State>>(const RequestContext& context, const State* older_than)>;

// Returns an iterator that follows the present state if files of its state are gone.
std::unique_ptr<KeyIterator> iterate_keys(GetState get_state, std::uint32_t family, KeyRange range, std::uint64_t at);

}  // namespace recordfs::database
