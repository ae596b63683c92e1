// The search for the next valid structure after damage, if a format recognizes one by its first bytes.
#pragma once

#include <functional>

#include "core/base/windowed_reader.h"

namespace recordfs {

struct ResyncResult {
  enum class Kind : std::uint8_t {
    kFound,    // a valid structure begins at `at`
    kLater,    // none begins before `at`; the search can continue there
    kNothing,  // none begins before `at`, the end of the source
  };
  Kind kind = Kind::kNothing;
  Position at = 0;
};

// What a format supplies. A candidate is tested by its first `size` bytes.
struct ResyncRules {
  std::size_t size;
  std::function<std::size_t(Bytes window)> find;  // returns the first candidate's offset; none: window.size() or more
  // Returns `at` if the candidate there is valid; otherwise a later position at which to search on. `bytes` are those
  // from `at` to the end of the window.
  std::function<Result<Position>(Position at, Bytes bytes)> test;
  std::function<bool(Position at)> is_spent;  // returns whether to interrupt the search, which has reached `at`
};

// Searches from `from` on, window by window, and skips holes. Always advances unless it finds `from`. Fails like
// WindowedReader and `test`.
Result<ResyncResult> resync(const RequestContext& context, WindowedReader& windows, Position from,
                            const ResyncRules& rules);

}  // namespace recordfs
