// A chunk's stored fragments, each verified when read. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "core/base/buffer.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/recordio/current/chunk_frames.h"

namespace recordfs::recordio {

// The frames of a chunk, as encoded in ChunkInfo::detail.
struct Frames {
  std::uint64_t there = 1;      // present in the file
  std::uint64_t total = 1;      // according to the headers
  std::uint32_t last_size = 0;  // of the last fragment present, from its header

  bool is_cut() const { return there < total; }
};
std::array<std::uint64_t, 2> detail_of(const Run& run);
Frames frames_of(const ChunkInfo& chunk);

// Returns why the missing frames cannot be read: kUnfinished if the file ends there, otherwise kDamage.
Error cut_chunk(const Source& source, const ChunkInfo& chunk);

// Returns `error`, with the chunk's position if it has none.
Error in_chunk(Error error, const ChunkInfo& chunk);

// Receives a fragment, or kDamage at the frame's position if the fragment is not valid.
using SeeFragment = std::function<Result<void>(std::uint64_t index, const Result<Bytes>& fragment)>;

// Reads the frames [first, end), several per read, and passes each to `see` in order. Fails as Source does and as
// `see`, and stops at the first failure. REQUIRES: end <= frames_of(chunk).there.
Result<void> each_fragment(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                           std::uint64_t first, std::uint64_t end, const SeeFragment& see);

// Returns the concatenation of the first fragments: enough of them for `size` bytes, or all. Fails with kDamage at
// the frame if one is not valid, as Source does, and as cut_chunk if `size` bytes extend into missing frames. The
// caller has checked `size` against Limits.
Result<Buffer> read_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                           std::uint64_t size);

// Reads and verifies all fragments. Fails as read_stored would for the whole chunk.
Result<void> verify_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk);

}  // namespace recordfs::recordio
