#include "core/formats/recordio/current/stored.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/counted.h"

namespace recordfs::recordio {
namespace {

// Fewer, larger reads are faster up to this size. A larger buffer would be mapped anew each time, which costs more
// than the reads it saves.
constexpr std::uint64_t kFramesAtOnce = 3;

// REQUIRES: `frame` is the bytes at the place of frame `index`.
Result<Bytes> fragment_in(Bytes frame, const ChunkInfo& chunk, std::uint64_t index) {
  const Position begin = chunk.begin + index * kFrameSize;
  const auto header = parse_frame_header(frame);
  const bool fits = header && header->kind == kind_of(chunk.kind) && header->total == frames_of(chunk).total &&
                    header->index == index && header->used() <= frame.size();
  if (!fits) return Error{Code::kDamage, begin, "a chunk's header is damaged"};
  if (!checksum_matches(*header, frame)) return Error{Code::kDamage, begin, "the checksum of a chunk does not match"};
  return frame.subspan(kFrameHeaderSize, header->size);
}

}  // namespace

std::array<std::uint64_t, 2> detail_of(const Run& run) {
  return {run.frames, std::uint64_t{run.first.total} << 32 | run.last_size};
}

Frames frames_of(const ChunkInfo& chunk) {
  return {chunk.detail[0], chunk.detail[1] >> 32, static_cast<std::uint32_t>(chunk.detail[1])};
}

Error cut_chunk(const Source& source, const ChunkInfo& chunk) {
  const Frames frames = frames_of(chunk);
  const bool at_end = chunk.end >= source.size() || source.size() - chunk.end < kFrameSize;
  return {
      .code = at_end ? Code::kUnfinished : Code::kDamage,
      .position = chunk.begin,
      .detail = fmt::format("the block has {}, but the file holds {}", counted(frames.total, "chunk"), frames.there)};
}

Error in_chunk(Error error, const ChunkInfo& chunk) {
  if (error.position == 0 && is_permanent(error.code)) error.position = chunk.begin;
  return error;
}

Result<void> each_fragment(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                           std::uint64_t first, std::uint64_t end, const SeeFragment& see) {
  if (first >= end) return {};
  ASSIGN_OR_RETURN(
      auto scratch,
      Buffer::allocate(context, static_cast<std::size_t>(std::min(end - first, kFramesAtOnce) * kFrameSize)));
  for (std::uint64_t index = first; index < end;) {
    const std::uint64_t frames = std::min(end - index, kFramesAtOnce);
    const auto wanted = static_cast<std::size_t>(frames * kFrameSize);
    ASSIGN_OR_RETURN(const auto got,
                     source.read_at(context, chunk.begin + index * kFrameSize, scratch.span().first(wanted)));
    Bytes rest = scratch.view().first(got);
    for (const std::uint64_t after = index + frames; index < after; ++index) {
      const Bytes frame = rest.first(std::min<std::size_t>(rest.size(), kFrameSize));
      rest = rest.subspan(frame.size());
      TRY(see(index, fragment_in(frame, chunk, index)));
    }
  }
  return {};
}

Result<Buffer> read_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                           std::uint64_t size) {
  const Frames frames = frames_of(chunk);
  const std::uint64_t most = std::min(chunk.stored_size, size > UINT64_MAX - kFrameSize ? size : size + kFrameSize);
  ASSIGN_OR_RETURN(auto stored, Buffer::allocate(context, static_cast<std::size_t>(most)));
  std::size_t filled = 0;
  const auto take = [&](std::uint64_t, const Result<Bytes>& fragment) -> Result<void> {
    if (!fragment) return fragment.error();
    if (fragment->size() > stored.size() - filled) {
      return Error{Code::kDamage, chunk.begin, "the block's chunks are not those that the scan found"};
    }
    copy_bytes(*fragment, stored.span().subspan(filled));
    filled += fragment->size();
    return {};
  };
  for (std::uint64_t next = 0; next < frames.there && filled < size;) {
    const std::uint64_t wanted = (size - filled - 1) / kLargestFragment + 1;
    const std::uint64_t end = next + std::min(wanted, frames.there - next);
    TRY(each_fragment(context, source, chunk, next, end, take));
    next = end;
  }
  if (filled < size && frames.is_cut()) return cut_chunk(source, chunk);
  stored.truncate(filled);
  return stored;
}

Result<void> verify_stored(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
  const Frames frames = frames_of(chunk);
  const auto see = [](std::uint64_t, const Result<Bytes>& fragment) {
    return fragment ? Result<void>() : Result<void>(fragment.error());
  };
  TRY(each_fragment(context, source, chunk, 0, frames.there, see));
  if (frames.is_cut()) return cut_chunk(source, chunk);
  return {};
}

}  // namespace recordfs::recordio
