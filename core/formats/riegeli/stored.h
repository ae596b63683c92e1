// Reads the stored bytes of a chunk (header and data) without the block headers that interrupt them. Thread-safe.
#pragma once

#include <cstdint>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {

// Fills `out` with data of the chunk, starting at `offset` of the data. Each byte is read directly into its place.
// Fails with kUnfinished if the source ends, and as Source does.
Result<void> read_data(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                       std::uint64_t offset, MutableBytes out);

// Returns all data of a chunk after verifying its hash. Fails with kDamage if the hash does not match, and as
// read_data(). REQUIRES: the caller has checked the size against Limits.
Result<Buffer> read_verified(const RequestContext& context, const Source& source, const ChunkInfo& chunk);

// Verifies the hash of a chunk's data in pieces of bounded size. Fails as read_verified().
Result<void> verify_data(const RequestContext& context, const Source& source, const ChunkInfo& chunk);

// The meaning of ChunkInfo::detail and of the key's state in this format.
inline Phase phase_of(const ChunkInfo& chunk) { return chunk.key.state % kBlockSize; }
inline std::uint64_t data_hash(const ChunkInfo& chunk) { return chunk.detail[0]; }
inline std::uint64_t decoded_data_size(const ChunkInfo& chunk) { return chunk.detail[1]; }

// Returns the header of a chunk, from which Framing::describe() made `chunk`.
inline ChunkHeader header_of(const ChunkInfo& chunk) {
  return {.data_size = chunk.stored_size,
          .data_hash = data_hash(chunk),
          .type = chunk.kind.as<ChunkType>(),
          .num_records = chunk.records.value_or(0),
          .decoded_data_size = decoded_data_size(chunk)};
}

// Returns an error about the chunk as a whole.
Error chunk_error(Code code, const ChunkInfo& chunk, std::string detail);

// Returns an error from inside the chunk's data, with the chunk's position.
Error at_chunk(Error error, const ChunkInfo& chunk);

}  // namespace recordfs::riegeli
