// Reads many small chunks together, from bytes in memory: the fast path for intact parts of a file.
//
// A container without damage is a chain: each chunk's headers tell where the next one begins. plan() follows the chain
// without verifying anything, which is cheap. read() verifies and decodes what plan() found, and stops before the first
// byte that does not verify. The caller continues there with Container::scan().
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/request_context.h"
#include "core/formats/chunk_info.h"

namespace recordfs {

// Consecutive chunks.
struct ChunkRun {
  ChunkKey from;              // of the first chunk
  ChunkKey next;              // where a scan continues after the last chunk
  std::uint64_t chunks = 0;   // 0: the run is empty, and next == from
  std::uint64_t records = 0;  // of all chunks
  std::uint64_t bytes = 0;    // the sum of the records' sizes
  // Only of an empty run, if a larger window would have its first chunk: the bytes that the window needs, more than it
  // has. 0: Container::scan() has to read the chunk.
  std::uint64_t needs = 0;
};

// A chunk of a batch: the file's bytes [begin, end).
struct BatchChunk {
  Position begin = 0;
  Position end = 0;
  std::uint64_t records = 0;
};

// The records of a run, in order. Movable.
struct RecordBatch {
  ChunkRun run{};
  std::vector<BatchChunk> chunks{};  // run.chunks of them
  std::vector<Bytes> records{};      // run.records of them
  Slice window{};                    // of the file; records that are stored in one piece are in it
  std::vector<Buffer> buffers{};     // hold the other records
  bool has_checksums = true;         // Layout::has_checksum() of all chunks
};

// Const and thread-safe.
class BulkReader {
 public:
  virtual ~BulkReader() = default;

  // No run has more decoded bytes than this.
  static constexpr std::uint64_t kMostBytes = 4u << 20;

  // Returns whether plan() knows the numbers of records and bytes. If not, they are 0, and read() returns them.
  virtual bool plans_records() const { return true; }

  // Returns the run of chunks at `at` that are completely in `window`, the file's bytes from `at.position` on. Verifies
  // nothing. Empty if the first chunk is not completely in the window, exceeds the limits, or needs Container::scan()
  // and decode() for another reason. If Metadata::varies(), chunks of a run do not change the metadata.
  virtual ChunkRun plan(ChunkKey at, Bytes window) const = 0;

  // Verifies and decodes a planned run. `window` has the same bytes as for plan(). Returns fewer chunks if one is
  // damaged, or cannot be decoded for another reason; scan() and decode() tell why. All chunks and records of the
  // result are those that scan() and decode() return, with the same bytes. Throws std::bad_alloc.
  virtual RecordBatch read(const RequestContext& context, const ChunkRun& planned, Slice window) const = 0;

  // Plans and reads at once, which is faster if one thread does both.
  virtual RecordBatch read_at(const RequestContext& context, ChunkKey at, Slice window) const {
    const ChunkRun planned = plan(at, window.bytes);
    return planned.chunks == 0 ? RecordBatch{.run = planned} : read(context, planned, std::move(window));
  }
};

}  // namespace recordfs
