// Transposed chunks: messages taken apart into one buffer for each kind of field, and put together again by
// a small machine. FORMAT.md, "Transposed chunks". Any thread.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"

namespace recordfs::riegeli::transposed {

struct Decoded {
  Buffer payload;  // the records one behind the other
  Layout layout;
};

// Decodes the verified data of a chunk. Fails with kDamage unless exactly `record_count` records of `decoded_size`
// bytes in all come out, with kUnsupported for an unknown compression type, and with kLimit. The caller has checked
// both numbers against Limits.
Result<Decoded> decode(Bytes data, std::uint64_t record_count, std::uint64_t decoded_size, const Limits& limits);

}  // namespace recordfs::riegeli::transposed
