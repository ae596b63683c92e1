// The buckets of a transposed chunk, decompressed, and the buffers that are cut from them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/result.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli::transposed {

struct Buffers {
  std::vector<UnitContent> buckets;
  std::vector<Bytes> buffers;  // views into the buckets or into the chunk's data
};

// Reads the counts and lengths at the header's begin and takes the buckets from `data`. Every bucket has to be used
// up by its buffers, and no buffer crosses buckets. Fails with kDamage, with kLimit when the buffers are longer
// than `limit` all together, and as the codec does. `data` has to outlive the result.
Result<Buffers> open_buffers(Cursor& header, Cursor& data, CodecId codec, std::uint64_t limit);

}  // namespace recordfs::riegeli::transposed
