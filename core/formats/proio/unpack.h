// Decompresses payloads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/request_context.h"
#include "core/base/result.h"

namespace recordfs::proio {

// Decompresses a payload, whose compression is a number of a header, and verifies the checksums that it has. Ignores
// bytes after the compressed data. Fails with kUnsupported for an unknown compression, and as decompress_front() does;
// positions in errors are 0. Thread-safe. REQUIRES: compression != kCompressionNone.
Result<Buffer> unpack(const RequestContext& context, std::uint32_t compression, Bytes stored, const Limits& limits);

// Returns whether checksums cover all data of a compressed payload, which may have several frames. Thread-safe.
bool is_checksummed(std::uint32_t compression, Bytes stored);

}  // namespace recordfs::proio
