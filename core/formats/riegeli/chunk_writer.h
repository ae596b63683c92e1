// ChunkWriter: puts chunks into the blocks of a Riegeli/records file (Riegeli specification, "Block header", "Chunk").
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/record_writer.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {

// Writes the chunks of one file in order. All functions fail as ByteSink; after that, none may be called. Not
// thread-safe.
class ChunkWriter {
 public:
  // `sink` must outlive the object.
  explicit ChunkWriter(ByteSink& sink) : sink_(sink) {}

  // Returns where the next chunk begins.
  Position position() const { return position_; }

  // Appends the chunk that every file begins with.
  Result<void> append_signature();
  // Appends a chunk: a valid header and the data, as encode.h returns them.
  Result<void> append(Bytes chunk);
  // Appends a chunk of another file as it is stored. Reads it in pieces. Fails with kDamage if its data is not what the
  // header says, and as Source does.
  Result<void> copy(const RequestContext& context, const Source& source, const ChunkInfo& chunk);
  // Appends a padding chunk that ends where a block begins; nothing if position() is there.
  Result<void> pad_to_block();

 private:
  // Sets the bounds of the chunk that begins here.
  void begin_chunk(const ChunkHeader& header);
  // Writes bytes of the chunk, and the block headers that interrupt them.
  Result<void> put(Bytes bytes);
  // Writes the zeros after the data of a chunk with many records.
  Result<void> end_chunk();

  ByteSink& sink_;
  Position position_ = 0;
  Position chunk_begin_ = 0;
  Position chunk_end_ = 0;
};

}  // namespace recordfs::riegeli
