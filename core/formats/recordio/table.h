// The table in front of the items: how many there are, and how long each is. Both formats have it. FORMAT.md, "Table".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"

namespace recordfs::recordio {

// Reads the table at the beginning of `bytes`. The layout's first record begins right behind the table; its records
// add up to `most` bytes at the most, table included. nullopt when `bytes` end inside the table. Fails with kDamage
// and kLimit, at position 0. Any thread.
Result<std::optional<Layout>> parse_table(Bytes bytes, std::uint64_t most, const Limits& limits);

// The failure of a table that the whole of a chunk is too short for.
Error cut_table();

}  // namespace recordfs::recordio
