// Runs the program of a transposed chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/formats/riegeli/transposed/program.h"

namespace recordfs::riegeli::transposed {

// Fills all of `out` with the records, starting with the last one. Returns `record_count` numbers, for the records from
// last to first. Each is the size of that record and all records after it, so the last number is out.size(). Fails with
// kDamage if the program produces anything else.
//
// The time is proportional to the output, the records and the transitions. Each step produces output, begins a record,
// opens a submessage (which will produce two bytes) or follows a transition. The only exception is an idle node that
// needs no transition, and a valid program never runs two of them in a row.
Result<std::vector<std::uint64_t>> run(const RequestContext& context, const Program& program,
                                       const std::vector<Bytes>& buffers, Bytes transitions, std::uint64_t record_count,
                                       MutableBytes out);

}  // namespace recordfs::riegeli::transposed
