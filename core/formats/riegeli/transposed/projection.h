// Runs the program of a transposed chunk for some fields only, as the projection of the reference reader does.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/base/result.h"
#include "core/formats/field_projection.h"
#include "core/formats/riegeli/transposed/buffers.h"
#include "core/formats/riegeli/transposed/program.h"

namespace recordfs::riegeli::transposed {

// The sizes that the header of a chunk declares.
struct DeclaredSizes {
  std::uint64_t records = 0;
  std::uint64_t decoded = 0;  // bytes
};

struct ProjectedRecords {
  Buffer payload;
  std::vector<std::uint64_t> ends;  // as of run() in decode.cc: sizes of the last records together
};

// Returns the records with the wanted fields only, in `declared.decoded` bytes at most. Messages on the way to a wanted
// field are there, too, even if they have none. What the chunk stores as a string although the fields lead into it is
// whole, and so are records that are no messages. Decompresses the buckets of these fields only.
//
// Fails with kDamage if the program produces anything but `declared`, as far as these fields tell. Fails with kDamage
// also for a valid program that no encoder makes: one whose node writes fields of several messages, or whose wanted and
// unwanted fields share a buffer. The program is changed, and of no use afterwards.
Result<ProjectedRecords> run_projected(const RequestContext& context, Program& program, LazyBuffers& buffers,
                                       Bytes transitions, const DeclaredSizes& declared, const FieldProjection& wanted);

}  // namespace recordfs::riegeli::transposed
