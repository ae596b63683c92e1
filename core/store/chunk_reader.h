// Reads the chunks of one container: from the caches, or decoded now.
#pragma once

#include <cstdint>
#include <memory>

#include "core/store/chunk_index.h"
#include "core/store/read_ahead.h"
#include "core/store/stored_file.h"

namespace recordfs {

// Works on the calling thread, as far as the RequestContext permits. May block until another thread has decoded the
// same chunk, or until DecodeBudget has room. Callers share ownership of chunks, layouts and slices, which stay valid
// when the cache drops them. Failures are logged, except where stated. Thread-safe.
class ChunkReader {
 public:
  using Pointer = std::shared_ptr<const Chunk>;

  // All must outlive this.
  ChunkReader(const StoredFile& file, const ChunkIndex& index, DamageLog& log);

  // Returns whether a chunk is too large to be decoded ahead of its reader. It is read in place if its format can.
  bool is_large(const ChunkInfo& chunk) const;

  // Returns the number of records in a chunk. Makes its layout only if the header does not tell.
  Result<std::uint64_t> records_in(const RequestContext& context, const ChunkInfo& chunk) const;
  // Returns the positions of a chunk's records. Fails like Container::layout(), and with kChanged if the chunk no
  // longer matches `info`.
  Result<std::shared_ptr<const Layout>> layout(const RequestContext& context, const ChunkInfo& info) const;

  // Returns the chunk. Concurrent calls share one decoding. Fails like Container::decode(), and with kChanged if the
  // chunk no longer matches `info`.
  Result<Pointer> get(const RequestContext& context, const ChunkInfo& info) const;
  // The same without logging failures or reading ahead.
  Result<Pointer> get_quietly(const RequestContext& context, const ChunkInfo& info) const;
  // Decodes a chunk without caching it, for callers that read each chunk once. Fails like get().
  Result<Pointer> decode_uncached(const RequestContext& context, const ChunkInfo& info) const;
  // The same without logging, for callers that decode ahead and report failures later.
  Result<Pointer> decode_ahead(const RequestContext& context, const ChunkInfo& info) const;
  // Reports that a chunk was read, so that the next ones are decoded ahead.
  void was_read(const ChunkInfo& info) const {
    if (!read_ahead_->is_latest(info) && !is_large(info)) read_ahead_->was_read(info);
  }

  // Returns exactly `length` bytes of a chunk's payload. Fails like Chunk::read(). Does not log.
  Result<Slice> read(const RequestContext& context, const Chunk& chunk, std::uint64_t offset,
                     std::uint64_t length) const;
  // Fails if a record of a chunk is unreadable.
  Result<void> check_readable(const RequestContext& context, const Layout& layout, std::uint64_t index) const;
  // Returns the size of a chunk's payload: exact if it is readable, otherwise the declared size or 1. Fails only for
  // reasons that may pass.
  Result<std::uint64_t> payload_size(const RequestContext& context, const ChunkInfo& info) const;
  // Returns up to `length` bytes of a chunk's payload from `offset`, fewer only at its end. Fails if a record in the
  // range is unreadable.
  Result<Slice> read_payload(const RequestContext& context, const ChunkInfo& info, std::uint64_t offset,
                             std::uint64_t length) const;

  // Returns up to `length` bytes of the file within [begin, end), from `begin + offset` on.
  Result<Slice> read_raw(const RequestContext& context, Position begin, Position end, std::uint64_t offset,
                         std::uint64_t length) const;
  // The same for the bytes of a chunk. If the file was touched since it was opened, verifies the chunk, and fails with
  // kChanged if its checksums do not match.
  Result<Slice> read_raw(const RequestContext& context, const ChunkInfo& chunk, std::uint64_t offset,
                         std::uint64_t length) const;

 private:
  Result<Pointer> decode(const RequestContext& context, const ChunkInfo& chunk) const;
  Result<Pointer> decode_in_turn(const RequestContext& context, const ChunkInfo& chunk) const;
  Result<std::shared_ptr<const Layout>> cached_layout(const RequestContext& context, const ChunkInfo& info) const;
  std::unique_ptr<ReadAhead> new_read_ahead() const;

  const StoredFile& file_;
  const ChunkIndex& index_;
  DamageLog& log_;
  const std::unique_ptr<ReadAhead> read_ahead_;
};

// Returns a size that is not 0, for unreadable records: the kernel does not send reads for empty files.
inline std::uint64_t at_least_one(std::uint64_t size) { return size > 0 ? size : 1; }

}  // namespace recordfs
