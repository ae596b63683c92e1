#include "core/formats/riegeli/stored.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/formats/riegeli/wire.h"
#include "core/hash/highway.h"

namespace recordfs::riegeli {
namespace {

constexpr std::uint64_t kHashPiece = 4 * kUsableBlockSize;

Error hash_mismatch(const ChunkInfo& chunk) {
  return chunk_error(Code::kDamage, chunk, "the hash of the chunk's data does not match");
}

}  // namespace

Error chunk_error(Code code, const ChunkInfo& chunk, std::string detail) {
  return {.code = code, .position = chunk.begin, .detail = std::move(detail)};
}

Error at_chunk(Error error, const ChunkInfo& chunk) {
  if (error.code != Code::kIo && error.code != Code::kChanged) error.position = chunk.begin;
  return error;
}

Result<void> read_data(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                       std::uint64_t offset, MutableBytes out) {
  if (out.empty()) return {};
  Position at = position_in_chunk(chunk.begin, kChunkHeaderSize + offset, phase_of(chunk));
  const std::uint64_t shift = shift_of(phase_of(chunk));
  while (!out.empty()) {
    const std::uint64_t left_in_block = kBlockSize - (at + shift) % kBlockSize;
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(left_in_block, out.size()));
    ASSIGN_OR_RETURN(const auto got, source.read_at(context, at, out.first(length)));
    if (got < length) {
      return Error{Code::kUnfinished, at + got, fmt::format("the file ends inside the chunk at {}", chunk.begin)};
    }
    out = out.subspan(length);
    at += length + kBlockHeaderSize;
  }
  return {};
}

Result<Buffer> read_verified(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
  ASSIGN_OR_RETURN(auto data, Buffer::allocate(context, static_cast<std::size_t>(chunk.stored_size)));
  TRY(read_data(context, source, chunk, 0, data.span()));
  if (riegeli_hash(data.view()) != data_hash(chunk)) return hash_mismatch(chunk);
  return data;
}

Result<void> verify_data(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
  ASSIGN_OR_RETURN(auto piece,
                   Buffer::allocate(context, static_cast<std::size_t>(std::min(chunk.stored_size, kHashPiece))));
  RiegeliHasher hasher;
  for (std::uint64_t done = 0; done < chunk.stored_size;) {
    const auto length = static_cast<std::size_t>(std::min(chunk.stored_size - done, kHashPiece));
    const MutableBytes bytes = piece.span().first(length);
    TRY(read_data(context, source, chunk, done, bytes));
    hasher.append(bytes);
    done += length;
  }
  if (hasher.finish() != data_hash(chunk)) return hash_mismatch(chunk);
  return {};
}

}  // namespace recordfs::riegeli
