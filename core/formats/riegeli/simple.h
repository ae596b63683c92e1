// Simple chunks: the sizes of the records in one part, the concatenated records in another (Riegeli specification,
// "Simple chunk with records"). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli {

// Verifies the hash of a chunk and returns the record sizes. Reads the values in pieces and does not decompress them.
//
// Fails with kDamage unless the number of sizes and their sum match the header. Fails with kUnsupported for an unknown
// compression type, with kLimit if the stored sizes exceed Limits::stored_chunk, and as verify_data().
Result<Layout> simple_layout(const RequestContext& context, std::shared_ptr<const Source> source,
                             const ChunkInfo& chunk, const Limits& limits);

// Decodes verified `data`. The records are in one buffer, or are decompressed as they are read. Fails as
// simple_layout(), and if the values do not match the decoded size exactly. If values are decompressed later, that
// error occurs on the read.
Result<std::shared_ptr<const Chunk>> decode_simple(const RequestContext& context, const ChunkInfo& chunk, Buffer data);

// Verifies a chunk with uncompressed values and returns a Chunk that reads them from the source on demand. Returns null
// for a compressed chunk. Chunks of any size are allowed.
// Fails as simple_layout().
Result<std::shared_ptr<const Chunk>> open_simple_in_place(const RequestContext& context,
                                                          std::shared_ptr<const Source> source, const ChunkInfo& chunk,
                                                          const Limits& limits);

}  // namespace recordfs::riegeli
