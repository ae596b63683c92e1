// A chunk's record: out of the file as it is, or decoded block by block as it is read. Any thread.
#pragma once

#include <memory>

#include "core/formats/bloscpack/stored.h"
#include "core/formats/chunk.h"

namespace recordfs::bloscpack {

// Verifies a chunk and gives its record. What is not compressed stays in the file; several blocks are decoded when they
// are first read; one block is decoded now. Fails as Container::decode does.
Result<std::shared_ptr<const Chunk>> decode_chunk(Stored stored, const Limits& limits);

// Checks the checksum and what decode_chunk() asks for before it. Fails as Container::verify does.
Result<void> verify_chunk(const Stored& stored);

// The same as decode_chunk() for chunks that are too large to hold: the limits hold for each block, of which one at a
// time is in memory.
Result<std::shared_ptr<const Chunk>> decode_by_blocks(Stored stored, const Limits& limits);

}  // namespace recordfs::bloscpack
