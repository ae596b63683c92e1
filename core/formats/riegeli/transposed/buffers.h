// The decompressed buckets of a transposed chunk, and the buffers cut from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// Parses the counts and lengths at the start of the header and takes the buckets from `data`. The buffers must use up
// every bucket, and no buffer crosses buckets. Fails with kDamage, with kLimit if the buffers exceed `limits`, and as
// the codec does. `data` must outlive the result.
Result<Buffers> open_buffers(const RequestContext& context, Cursor& header, Cursor& data, CodecId codec,
                             const BufferLimits& limits);

// Returns an error about the chunk's content.
inline Error damage(std::string_view detail) { return {.code = Code::kDamage, .detail = std::string(detail)}; }

}  // namespace recordfs::riegeli::transposed
