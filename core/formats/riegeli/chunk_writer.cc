#include "core/formats/riegeli/chunk_writer.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "core/formats/riegeli/stored.h"
#include "core/hash/highway.h"

namespace recordfs::riegeli {
namespace {

constexpr std::uint64_t kCopiedPiece = 16 * kUsableBlockSize;

}  // namespace

void ChunkWriter::begin_chunk(const ChunkHeader& header) {
  chunk_begin_ = position_;
  chunk_end_ = chunk_end(position_, header);
}

Result<void> ChunkWriter::put(Bytes bytes) {
  while (!bytes.empty()) {
    if (position_ % kBlockSize == 0) {
      std::string header;
      append_block_header(header, {.previous_chunk = position_ - chunk_begin_, .next_chunk = chunk_end_ - position_});
      TRY(sink_.write(as_bytes(header)));
      position_ += header.size();
    }
    const Bytes piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kBlockSize - position_ % kBlockSize));
    TRY(sink_.write(piece));
    position_ += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

Result<void> ChunkWriter::end_chunk() {
  if (position_ == chunk_end_) return {};
  // A chunk does not end inside a block header, so there are zeros after each of those.
  const std::string zeros(kUsableBlockSize, '\0');
  while (position_ < chunk_end_) {
    const std::uint64_t before = position_ % kBlockSize == 0 ? kBlockHeaderSize : 0;
    const std::uint64_t room = kBlockSize - position_ % kBlockSize - before;
    TRY(put(as_bytes(zeros).first(std::min(room, chunk_end_ - position_ - before))));
  }
  return {};
}

Result<void> ChunkWriter::append_signature() {
  std::string chunk;
  append_chunk_header(chunk, {.data_hash = riegeli_hash({}), .type = ChunkType::kSignature});
  return append(as_bytes(chunk));
}

Result<void> ChunkWriter::append(Bytes chunk) {
  const auto header = parse_chunk_header(chunk.first(kChunkHeaderSize));
  assert(header && header->data_size == chunk.size() - kChunkHeaderSize);
  begin_chunk(*header);
  TRY(put(chunk));
  return end_chunk();
}

Result<void> ChunkWriter::copy(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
  const ChunkHeader header = header_of(chunk);
  begin_chunk(header);
  std::string bytes;
  append_chunk_header(bytes, header);
  TRY(put(as_bytes(bytes)));
  ASSIGN_OR_RETURN(auto buffer, Buffer::allocate(context, std::min(header.data_size, kCopiedPiece)));
  RiegeliHasher hasher;
  for (std::uint64_t done = 0; done < header.data_size;) {
    const MutableBytes piece = buffer.span().first(std::min(header.data_size - done, kCopiedPiece));
    TRY(read_data(context, source, chunk, done, piece));
    hasher.append(piece);
    TRY(put(piece));
    done += piece.size();
  }
  if (hasher.finish() != header.data_hash) {
    return chunk_error(Code::kDamage, chunk, "the hash of the chunk's data does not match");
  }
  return end_chunk();
}

Result<void> ChunkWriter::pad_to_block() {
  std::uint64_t room = block_at_or_after(position_) - position_;
  if (room == 0) return {};
  if (room < kChunkHeaderSize) room += kUsableBlockSize;
  const std::string data(room - kChunkHeaderSize, '\0');
  std::string chunk;
  append_chunk_header(
      chunk, {.data_size = data.size(), .data_hash = riegeli_hash(as_bytes(data)), .type = ChunkType::kPadding});
  chunk += data;
  return append(as_bytes(chunk));
}

}  // namespace recordfs::riegeli
