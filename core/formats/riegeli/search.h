// The search for the next chunk after damage. FORMAT.md, "Damage".
#pragma once

#include <optional>

#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/riegeli/framing.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {

// The state of a search.
struct Search {
  Position damaged = 0;       // where the scan stopped
  Phase phase = 0;            // phase of the blocks before `damaged`
  Position least = 0;         // ignore chunks that begin before this
  Position headers_from = 0;  // block headers of this phase before this have been used already
  Position from = 0;          // everything before this has been searched
  // A file signature was found where no block of this file begins. The bytes after it may be a file inside a record, so
  // chunk headers alone are no evidence any more.
  bool is_foreign = false;
};

// Continues the search to the next multiple of the block size, to the end of a hole, or to `until`. Returns where the
// scan can continue, or nullopt if that is not known yet. The result does not depend on how the search was split into
// calls. Fails as Source does, and with kOutOfMemory. REQUIRES: search.from < until; `until` is in the file.
// Thread-safe.
Result<std::optional<Place>> advance(const RequestContext& context, const Source& source, const Framing& framing,
                                     Search& search, Position until);

}  // namespace recordfs::riegeli
