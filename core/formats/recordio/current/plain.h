// Chunks without transformers. Their content is stored in the file unchanged, in fragments with a checksum each.
// Records in valid fragments can be read even if other fragments are broken. FORMAT.md, "Plain chunks".
#pragma once

#include <memory>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs::recordio {

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
