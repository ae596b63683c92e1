// A chunk's fragments as they stand in the file, each verified when it is read. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "core/base/buffer.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/recordio/current/runs.h"

namespace recordfs::recordio {

// What ChunkInfo::detail says of a chunk's frames.
struct Frames {
  std::uint64_t there = 1;      // that stand in the file
  std::uint64_t total = 1;      // that the chunk should have
  std::uint32_t last_size = 0;  // of the last fragment that is there, by its header

  bool is_cut() const { return there < total; }
};
std::array<std::uint64_t, 2> detail_of(const Run& run);
Frames frames_of(const ChunkInfo& chunk);

// Why the frames that are not there can't be read: kUnfinished where the file ends, kDamage elsewhere.
Error cut_chunk(const Source& source, const ChunkInfo& chunk);

// An error from inside a chunk, with the chunk's position where it has none of its own.
Error in_chunk(Error error, const ChunkInfo& chunk);

// What is done with a fragment, or with the kDamage, at the frame, of one that is not sound.
using SeeFragment = std::function<Result<void>(std::uint64_t index, const Result<Bytes>& fragment)>;

// Reads the frames [first, end), many at once, and has each one seen in its order. Fails as Source does and as `see`,
// which is not called again then. REQUIRES: end <= frames_of(chunk).there.
Result<void> each_fragment(const Source& source, const ChunkInfo& chunk, std::uint64_t first, std::uint64_t end,
                           const SeeFragment& see);

// The first fragments together, as many as hold `size` bytes, or all. Fails with kDamage, at the frame, when one is not
// sound, and as Source does; and as cut_chunk when `size` bytes want frames that are not there. The caller has checked
// `size` against Limits.
Result<Buffer> read_stored(const Source& source, const ChunkInfo& chunk, std::uint64_t size);

// Reads all fragments and keeps none. Fails as read_stored would for the whole chunk.
Result<void> verify_stored(const Source& source, const ChunkInfo& chunk);

}  // namespace recordfs::recordio
