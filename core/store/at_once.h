// Runs a function on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace recordfs {

// Calls `call` for each number below `count`, on as many threads as `threads`, of which the calling one is one. A call
// that throws std::bad_alloc ends, and the others go on. Returns after the last one.
void call_at_once(unsigned threads, std::size_t count, const std::function<void(std::size_t number)>& call);

}  // namespace recordfs
