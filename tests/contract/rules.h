// The contract of every container, as checks that return descriptions of violations. The contract tests expect an empty
// list; the fuzz targets abort on the first line.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/formats/container.h"
#include "tests/contract/reading.h"

namespace recordfs::contract {

using Violations = std::vector<std::string>;

// The scan ends, advances, and stays in the file. Chunks and regions do not overlap, and are in order if the container
// is in file order.
Violations check_walk(const Walk& walk, std::uint64_t size);

// scan() repeats each step, in any order, and returns each chunk again from the chunk's own key.
Violations check_rescan(const Container& container, const Walk& walk);

// decode, layout, verify and open_in_place agree about a chunk, and with its header. If records have parts, values or
// key changes, those of the first records conform to value.h. `seed` picks the ranges that are
// read.
Violations check_chunk(const Container& container, const ChunkInfo& chunk, std::uint64_t seed);

// For each of `positions`, locate(p) returns what the scan found at p.
Violations check_locate(const Container& container, const Walk& walk, std::span<const Position> positions);

// Batches that Container::bulk() reads, at some places of `file`, have exactly the chunks and records that scan() and
// decode() find there, without damage between them. `seed` picks the places. Adds the chunks that were read to
// `*chunks` unless it is null.
Violations check_bulk(const Container& container, Bytes file, const Walk& walk, std::uint64_t seed,
                      std::uint64_t* chunks = nullptr);

}  // namespace recordfs::contract
