#include "core/formats/recordio/current/stored.h"

#include <algorithm>

#include <fmt/format.h>

namespace recordfs::recordio {

std::array<std::uint64_t, 2> detail_of(const Run& run) {
  return {run.frames, std::uint64_t{run.first.total} << 32 | run.last_size};
}

Frames frames_of(const ChunkInfo& chunk) {
  return {chunk.detail[0], chunk.detail[1] >> 32, static_cast<std::uint32_t>(chunk.detail[1])};
}

Error cut_chunk(const Source& source, const ChunkInfo& chunk) {
  const Frames frames = frames_of(chunk);
  const bool at_end = chunk.end >= source.size() || source.size() - chunk.end < kFrameSize;
  return {.code = at_end ? Code::kUnfinished : Code::kDamage,
          .position = chunk.begin,
          .detail = fmt::format("of the block's {} chunks the file holds {}", frames.total, frames.there)};
}

Error in_chunk(Error error, const ChunkInfo& chunk) {
  if (error.position == 0 && lies_in_the_bytes(error.code)) error.position = chunk.begin;
  return error;
}

Result<Bytes> read_fragment(const Source& source, const ChunkInfo& chunk, std::uint64_t index, MutableBytes scratch) {
  const Position begin = chunk.begin + index * kFrameSize;
  auto got = source.read_at(begin, scratch.first(kFrameSize));
  if (!got) return std::move(got).error();
  const Bytes frame = Bytes(scratch).first(*got);
  const auto header = parse_frame_header(frame);
  const bool fits = header && header->kind == kind_of(chunk.kind) && header->total == frames_of(chunk).total &&
                    header->index == index && header->used() <= frame.size();
  if (!fits) return Error{Code::kDamage, begin, "a chunk's header is damaged"};
  if (!checksum_matches(*header, frame)) return Error{Code::kDamage, begin, "the checksum of a chunk does not match"};
  return frame.subspan(kFrameHeaderSize, header->size);
}

Result<Buffer> read_stored(const Source& source, const ChunkInfo& chunk, std::uint64_t size) {
  auto scratch = Buffer::allocate(kFrameSize);
  if (!scratch) return std::move(scratch).error();
  const Frames frames = frames_of(chunk);
  const std::uint64_t most = std::min(chunk.stored_size, size > UINT64_MAX - kFrameSize ? size : size + kFrameSize);
  auto stored = Buffer::allocate(static_cast<std::size_t>(most));
  if (!stored) return stored;
  std::size_t filled = 0;
  for (std::uint64_t i = 0; i < frames.there && filled < size; ++i) {
    auto fragment = read_fragment(source, chunk, i, scratch->span());
    if (!fragment) return std::move(fragment).error();
    if (fragment->size() > stored->size() - filled) {
      return Error{Code::kDamage, chunk.begin, "the block's chunks are not those that the walk has found"};
    }
    copy_bytes(*fragment, stored->span().subspan(filled));
    filled += fragment->size();
  }
  if (filled < size && frames.is_cut()) return cut_chunk(source, chunk);
  stored->truncate(filled);
  return stored;
}

Result<void> verify_stored(const Source& source, const ChunkInfo& chunk) {
  auto scratch = Buffer::allocate(kFrameSize);
  if (!scratch) return std::move(scratch).error();
  const Frames frames = frames_of(chunk);
  for (std::uint64_t i = 0; i < frames.there; ++i) {
    if (auto fragment = read_fragment(source, chunk, i, scratch->span()); !fragment) return std::move(fragment).error();
  }
  if (frames.is_cut()) return cut_chunk(source, chunk);
  return {};
}

}  // namespace recordfs::recordio
