// The table in front of the items: their number and their sizes. Both formats have it. FORMAT.md, "Table".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"

namespace recordfs::recordio {

// Parses the table at the start of `bytes`. In the layout, the first record begins right after the table; table and
// records together take at most `most` bytes. Returns nullopt if `bytes` end inside the table. Fails with kDamage and
// kLimit, at position 0. Any thread.
Result<std::optional<Layout>> parse_table(const RequestContext& context, Bytes bytes, std::uint64_t most,
                                          const Limits& limits);

// Returns the error for a table that does not fit in its chunk.
Error cut_table();

}  // namespace recordfs::recordio
