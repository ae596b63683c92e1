// A chunk's stored fragments, each verified when read. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/limits.h"
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

// The offset of each fragment in a chunk's content.
class Placement {
 public:
  // All fragments are full except the last.
  Placement(std::uint64_t fragments, std::uint64_t length) : fragments_(fragments), length_(length) {}
  // `ends` holds the end of each fragment.
  explicit Placement(std::vector<std::uint64_t> ends);

  // Returns the length of all fragments together.
  std::uint64_t length() const { return length_; }
  // REQUIRES: offset < length().
  std::uint64_t index_at(std::uint64_t offset) const;
  // REQUIRES: index < number of fragments.
  Extent extent(std::uint64_t index) const;
  std::uint64_t memory() const { return ends_.capacity() * sizeof(ends_[0]); }

 private:
  std::vector<std::uint64_t> ends_;  // empty if all fragments are full
  std::uint64_t fragments_ = 0;
  std::uint64_t length_ = 0;
};

struct Plain {
  Layout layout;  // of all records in the table, as if all were readable
  Placement placement;
};

// Reads the table of a plain chunk and computes where its fragments are. Reads only the fragments that hold the
// table, or all of them if their sizes contradict it. Fails with kDamage if the table is broken or fits no
// arrangement, with kLimit if there are too many records, and as Source does.
Result<Plain> read_plain(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                         const Limits& limits);

// Returns the layout. Records in frames that the file lacks carry their failure.
Layout plain_layout(const RequestContext& context, const Source& source, const ChunkInfo& chunk, const Plain& plain);

// Returns the chunk in memory if all frames are valid. Otherwise returns one that reads from the file, in which
// records in broken frames carry their failure. Fails as read_plain, and with kLimit.
Result<std::shared_ptr<const Chunk>> decode_plain(const RequestContext& context, std::shared_ptr<const Source> source,
                                                  const ChunkInfo& chunk, const Limits& limits);

// Verifies every frame that holds a part of a record. Fails as decode_plain, and also if that would mark some records
// as failed.
Result<void> verify_plain(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                          const Limits& limits);

// Returns a chunk of any size that reads and verifies each frame when a part of it is read. Fails as read_plain.
Result<std::shared_ptr<const Chunk>> open_plain_in_place(const RequestContext& context,
                                                         std::shared_ptr<const Source> source, const ChunkInfo& chunk,
                                                         const Limits& limits);

}  // namespace recordfs::recordio
