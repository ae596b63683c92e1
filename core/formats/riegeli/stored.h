// The stored bytes of a chunk (its header and data) as one run, with the block headers that interrupt them
// taken out while reading. Any thread.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {

// Fills `out` with the bytes of the data of the chunk, from `offset` of its data on. Each byte is
// read into its place; nothing is moved afterwards. Fails with kUnfinished where the source ends, and as
// Source does.
Result<void> read_data(const Source& source, const ChunkInfo& chunk, std::uint64_t offset, MutableBytes out);

// All data of a chunk, its hash verified. The caller has checked the size against Limits. Fails with kDamage
// when the hash is wrong, and as read_data.
Result<Buffer> read_verified(const Source& source, const ChunkInfo& chunk);

// Checks the hash of a chunk's data in pieces of bounded size. Fails as read_verified.
Result<void> verify_data(const Source& source, const ChunkInfo& chunk);

// What ChunkInfo::detail and the key's state hold for this format.
inline Phase phase_of(const ChunkInfo& chunk) { return chunk.key.state % kBlockSize; }
inline std::uint64_t data_hash(const ChunkInfo& chunk) { return chunk.detail[0]; }
inline std::uint64_t decoded_data_size(const ChunkInfo& chunk) { return chunk.detail[1]; }

// An error about the chunk as a whole.
Error chunk_error(Code code, const ChunkInfo& chunk, std::string detail);

// An error from inside the chunk's data, with the chunk's position.
Error at_chunk(Error error, const ChunkInfo& chunk);

}  // namespace recordfs::riegeli
