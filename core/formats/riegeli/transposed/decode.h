// Transposed chunks: messages split into one buffer for each kind of field, and reassembled by a small state machine.
// FORMAT.md, "Transposed chunks". Thread-safe.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/formats/chunk.h"
#include "core/formats/field_projection.h"

namespace recordfs::riegeli::transposed {

struct Decoded {
  Buffer payload;  // the concatenated records
  Layout layout;
};

// Decodes the verified data of a chunk. Fails with kDamage unless exactly `record_count` records with a total of
// `decoded_size` bytes come out, with kUnsupported for an unknown compression type, and with kLimit. REQUIRES: the
// caller has checked both numbers against Limits.
Result<Decoded> decode(const RequestContext& context, Bytes data, std::uint64_t record_count,
                       std::uint64_t decoded_size, const Limits& limits);

// As decode(), but may leave out fields that are not wanted. Returns the whole records if fields cannot be left out, so
// that an error is always one of decode(). A chunk whose damage is in other fields does not fail.
Result<Decoded> decode_fields(const RequestContext& context, Bytes data, std::uint64_t record_count,
                              std::uint64_t decoded_size, const Limits& limits, const FieldProjection& wanted);

}  // namespace recordfs::riegeli::transposed
