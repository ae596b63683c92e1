// Simple chunks: the sizes of the records in one part, their bytes behind one another in a second one
// (specification, "Simple chunk with records"). Any thread.
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

// The record sizes of a chunk whose hash is right; the values pass by in pieces and are not decompressed. Fails with
// kDamage when the sizes are not exactly as many as the header says, or don't add up to its decoded size, with
// kUnsupported for an unknown compression type, with kLimit where the stored sizes are longer than a stored chunk may
// be, and as verify_data().
Result<Layout> simple_layout(const Source& source, const ChunkInfo& chunk, const Limits& limits);

// All of it, of data whose hash is right: the records' bytes in one buffer, or decompressed as they are read. Fails as
// simple_layout, and when the values don't fill the decoded size exactly; where they are decompressed later, then.
Result<std::shared_ptr<const Chunk>> decode_simple(const ChunkInfo& chunk, Buffer data);

// A chunk whose values are not compressed, verified now and read from the source when they are asked for;
// null for any other. It verifies again when the source was touched in between. Of any size. Fails as simple_layout.
Result<std::shared_ptr<const Chunk>> simple_by_parts(std::shared_ptr<const Source> source, const ChunkInfo& chunk,
                                                     const Limits& limits);

}  // namespace recordfs::riegeli
