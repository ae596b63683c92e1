// The record of a chunk: read from the file unchanged, or decoded block by block on demand. Any thread.
#pragma once

#include <memory>
#include <optional>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/chunk_info.h"
#include "core/hash/digest.h"

namespace recordfs::bloscpack {

// The position of a chunk and the checksum that verifies it.
struct Stored {
  std::shared_ptr<const Source> source;
  ChunkInfo info;
  std::optional<DigestId> digest;  // nullopt: no checksum
};

// Verifies a chunk and returns its record. Uncompressed records stay in the file; several blocks are decoded when
// first read; a single block is decoded now. Fails as Container::decode does.
Result<std::shared_ptr<const Chunk>> decode_chunk(const RequestContext& context, Stored stored, const Limits& limits);

// Verifies the checksum and everything that decode_chunk() requires before it. Fails as Container::verify does.
Result<void> verify_chunk(const RequestContext& context, const Stored& stored);

// Like decode_chunk(), for chunks too large for memory. The limits apply to each block, and one block at a time is in
// memory.
Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context, Stored stored, const Limits& limits);

}  // namespace recordfs::bloscpack
