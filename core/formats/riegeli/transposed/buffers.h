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

struct BufferLimits {
  std::uint64_t bytes = 0;  // of all buffers together
  std::uint64_t count = 0;  // of buffers, and of buckets
};

// Reads the counts and lengths at the header's begin and takes the buckets from `data`. Every bucket has to be used
// up by its buffers, and no buffer crosses buckets. Fails with kDamage, with kLimit when the buffers are more or longer
// than `limits` allow, and as the codec does. `data` has to outlive the result.
Result<Buffers> open_buffers(Cursor& header, Cursor& data, CodecId codec, const BufferLimits& limits);

}  // namespace recordfs::riegeli::transposed
