// Chunks that no transformer was applied to: their content stands in the file as it is, in fragments with a checksum
// each. What is in sound fragments can be read whatever became of the others. FORMAT.md, "Plain chunks".
#pragma once

#include <memory>
#include <vector>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs::recordio {

// Where each fragment stands in a chunk's content.
class Placement {
 public:
  // All fragments are full but the last.
  Placement(std::uint64_t fragments, std::uint64_t length) : fragments_(fragments), length_(length) {}
  // `ends`: where each fragment ends.
  explicit Placement(std::vector<std::uint64_t> ends);

  // Of all fragments together.
  std::uint64_t length() const { return length_; }
  // REQUIRES: offset < length().
  std::uint64_t index_at(std::uint64_t offset) const;
  // REQUIRES: index < number of fragments.
  Extent extent(std::uint64_t index) const;
  std::uint64_t memory() const { return ends_.capacity() * sizeof(ends_[0]); }

 private:
  std::vector<std::uint64_t> ends_;  // empty where all are full
  std::uint64_t fragments_ = 0;
  std::uint64_t length_ = 0;
};

struct Plain {
  Layout layout;  // of all records that the table names, as if all could be read
  Placement placement;
};

// The table of a plain chunk, and where its fragments stand. Reads the fragments that hold the table; all of them when
// their sizes do not fit what the table says. Fails with kDamage when the table can't be read or fits nothing, with
// kLimit for too many records, and as Source does.
Result<Plain> read_plain(const Source& source, const ChunkInfo& chunk, const Limits& limits);

// The layout, where records in frames that the file does not hold carry their failure.
Layout plain_layout(const Source& source, const ChunkInfo& chunk, const Plain& plain);

// The chunk in memory, or where some of its frames can't be read, in the file: then the records in those carry their
// failure. Fails as read_plain, and with kLimit.
Result<std::shared_ptr<const Chunk>> decode_plain(std::shared_ptr<const Source> source, const ChunkInfo& chunk,
                                                  const Limits& limits);

// Whether every frame that holds a part of a record is sound. Fails as decode_plain, and where that would give
// some records as failed.
Result<void> verify_plain(const Source& source, const ChunkInfo& chunk, const Limits& limits);

// The chunk in the file, whatever its size: each frame is read and verified when a part of it is asked for. Fails as
// read_plain.
Result<std::shared_ptr<const Chunk>> plain_by_parts(std::shared_ptr<const Source> source, const ChunkInfo& chunk,
                                                    const Limits& limits);

}  // namespace recordfs::recordio
