// Runs the program of a transposed chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/formats/riegeli/transposed/program.h"

namespace recordfs::riegeli::transposed {

// Fills the whole of `out` with the records, the last one first. Returns, for each record from the last to the
// first, how many bytes of the output's end it and all records behind it take: `record_count` numbers, the last of
// which is out.size(). Fails with kDamage when anything else would come out.
//
// The time follows the output, the records and the transitions. Each step puts bytes, begins a record, opens a
// submessage (which will put two bytes) or follows a transition, but for nodes that do nothing and need no
// transition, and of those the program has no two in a row.
Result<std::vector<std::uint64_t>> run(const Program& program, const std::vector<Bytes>& buffers, Bytes transitions,
                                       std::uint64_t record_count, MutableBytes out);

}  // namespace recordfs::riegeli::transposed
