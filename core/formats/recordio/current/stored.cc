#include "core/formats/recordio/current/stored.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/formats/chunk.h"
#include "core/formats/recordio/table.h"

namespace recordfs::recordio {
namespace {

// Fewer, larger reads are faster up to this size. Reads that end at multiples of it need no copy from the pieces of a
// PrefetchBuffer.
constexpr std::uint64_t kFramesAtOnce = 4;

// REQUIRES: `frame` is the bytes at the place of frame `index`.
Result<Bytes> fragment_in(Bytes frame, const ChunkInfo& chunk, std::uint64_t index) {
  const Position begin = chunk.begin + index * kFrameSize;
  const auto header = parse_frame_header(frame);
  const bool fits = header && header->kind == chunk.kind.as<Kind>() && header->total == frames_of(chunk).total &&
                    header->index == index && header->used() <= frame.size();
  if (!fits) return Error{Code::kDamage, begin, "a chunk's header is damaged"};
  if (!checksum_matches(*header, frame)) return Error{Code::kDamage, begin, "the checksum of a chunk does not match"};
  return frame.subspan(kFrameHeaderSize, header->size);
}

constexpr std::uint64_t kFirstPrefix = 16 << 10;

// A range of the content that cannot be read.
struct Gap {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Error why;
};

Error changed_length(const ChunkInfo& chunk, std::uint64_t index) {
  return {Code::kDamage, chunk.begin + index * kFrameSize, "a chunk's size has changed"};
}

std::uint64_t missing_frames(const Frames& frames) { return frames.total - frames.there; }

// Returns whether fragments of `length` bytes, and the missing ones, can hold `content` bytes.
bool fits(const Frames& frames, std::uint64_t length, std::uint64_t content) {
  return content >= length && content - length <= missing_frames(frames) * kLargestFragment;
}

Result<Layout> read_table(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                          const Limits& limits) {
  const Frames frames = frames_of(chunk);
  const std::uint64_t most = frames.total * kLargestFragment;  // the sizes in the headers may be wrong
  for (std::uint64_t size = kFirstPrefix;; size *= 4) {
    ASSIGN_OR_RETURN(const auto prefix, read_stored(context, source, chunk, std::min(size, chunk.stored_size)));
    auto table = parse_table(context, prefix.view(), most, limits);
    if (!table) return in_chunk(std::move(table).error(), chunk);
    if (*table) return std::move(**table);
    if (size >= chunk.stored_size) return frames.is_cut() ? cut_chunk(source, chunk) : in_chunk(cut_table(), chunk);
  }
}

// Places the fragments by their checksums. A broken frame counts as full, as writers leave them; a broken last one
// takes the rest of `content` bytes. Returns nullopt if that does not add up.
Result<std::optional<Placement>> survey(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                                        std::uint64_t content) {
  const Frames frames = frames_of(chunk);
  std::vector<std::uint64_t> ends;
  std::uint64_t length = 0;
  const auto see = [&](std::uint64_t index, const Result<Bytes>& fragment) -> Result<void> {
    const bool is_last = index + 1 == frames.total;
    const std::uint64_t rest = content - std::min(length, content);
    length += fragment  ? fragment->size()
              : is_last ? std::min<std::uint64_t>(rest, kLargestFragment)
                        : kLargestFragment;
    ends.push_back(length);
    return {};
  };
  TRY(each_fragment(context, source, chunk, 0, frames.there, see));
  if (!fits(frames, length, content)) return std::optional<Placement>{};
  return std::optional(Placement(std::move(ends)));
}

// Reads all frames and returns the unreadable ranges of the content, in order. Fills `out` unless it is empty.
Result<std::vector<Gap>> read_all(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                                  const Plain& plain, MutableBytes out) {
  std::vector<Gap> gaps;
  const auto see = [&](std::uint64_t index, const Result<Bytes>& fragment) -> Result<void> {
    const Extent due = plain.placement.extent(index);
    if (!fragment) {
      gaps.push_back({due.begin, due.begin + due.size, fragment.error()});
    } else if (fragment->size() != due.size) {
      gaps.push_back({due.begin, due.begin + due.size, changed_length(chunk, index)});
    } else if (!out.empty()) {
      copy_bytes(*fragment, out.subspan(static_cast<std::size_t>(due.begin)));
    }
    return {};
  };
  TRY(each_fragment(context, source, chunk, 0, frames_of(chunk).there, see));
  return gaps;
}

// Returns `layout` with failures for records that overlap a gap or extend past the data in the file.
Layout marked(const RequestContext& context, const Source& source, const ChunkInfo& chunk, const Plain& plain,
              const std::vector<Gap>& gaps) {
  const Error cut = cut_chunk(source, chunk);
  Layout layout(plain.layout.first_begin());
  layout.reserve(context, plain.layout.records());
  auto gap = gaps.begin();
  for (std::uint64_t i = 0; i < plain.layout.records(); ++i) {
    const Extent extent = plain.layout.extent(i);
    while (gap != gaps.end() && gap->end <= extent.begin) ++gap;
    if (extent.size > 0 && extent.begin + extent.size > plain.placement.length()) {
      layout.add_failed(context, extent.size, cut);
    } else if (extent.size > 0 && gap != gaps.end() && gap->begin < extent.begin + extent.size) {
      layout.add_failed(context, extent.size, gap->why);
    } else {
      layout.add(context, extent.size);
    }
  }
  return layout;
}

// Returns a chunk that reads from the file, and verifies each frame that it reads.
std::shared_ptr<const Chunk> in_place(std::shared_ptr<const Source> source, const ChunkInfo& chunk, Layout layout,
                                      Placement placement) {
  const std::uint64_t held = placement.memory();
  auto read = [chunk, placement = std::move(placement)](const RequestContext& context, const Source& from,
                                                        const Layout&, std::uint64_t offset,
                                                        std::uint64_t length) -> Result<Buffer> {
    if (length > placement.length() || offset > placement.length() - length) return cut_chunk(from, chunk);
    auto bytes = Buffer::allocate(context, static_cast<std::size_t>(length));
    if (!bytes) return Error{Code::kOutOfMemory, chunk.begin, "no memory to read a part of a block"};
    MutableBytes out = bytes->span();
    const std::uint64_t first = placement.index_at(offset);
    const std::uint64_t end = placement.index_at(offset + length - 1) + 1;
    const auto see = [&](std::uint64_t index, const Result<Bytes>& fragment) -> Result<void> {
      if (!fragment) return fragment.error();
      const Extent due = placement.extent(index);
      if (fragment->size() != due.size) return changed_length(chunk, index);
      const Bytes wanted = fragment->subspan(static_cast<std::size_t>(offset - due.begin));
      const Bytes taken = wanted.first(std::min(wanted.size(), out.size()));
      copy_bytes(taken, out);
      out = out.subspan(taken.size());
      offset += taken.size();
      return {};
    };
    TRY(each_fragment(context, from, chunk, first, end, see));
    return bytes;
  };
  return std::make_shared<FileChunk>(std::move(source), std::move(layout), std::move(read), held);
}

Result<void> check_limits(const ChunkInfo& chunk, const Plain& plain, const Limits& limits) {
  const bool fits_in = chunk.stored_size <= limits.stored_chunk && plain.layout.end() <= limits.decoded_chunk;
  if (fits_in) return {};
  return Error{Code::kLimit, chunk.begin, fmt::format("{} bytes in one block exceed the limit", plain.layout.end())};
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
  for (std::uint64_t index = first; index < end;) {
    const Position at = chunk.begin + index * kFrameSize;
    const std::uint64_t frames = std::min(end - index, kFramesAtOnce - at / kFrameSize % kFramesAtOnce);
    ASSIGN_OR_RETURN(const auto view, source.view_at(context, at, frames * kFrameSize));
    Bytes rest = view.bytes;
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

Placement::Placement(std::vector<std::uint64_t> ends)
    : ends_(std::move(ends)), fragments_(ends_.size()), length_(ends_.empty() ? 0 : ends_.back()) {}

std::uint64_t Placement::index_at(std::uint64_t offset) const {
  if (ends_.empty()) return std::min(offset / kLargestFragment, fragments_ - 1);
  return static_cast<std::uint64_t>(std::ranges::upper_bound(ends_, offset) - ends_.begin());
}

Extent Placement::extent(std::uint64_t index) const {
  if (!ends_.empty()) {
    const auto at = static_cast<std::size_t>(index);
    const std::uint64_t begin = index == 0 ? 0 : ends_[at - 1];
    return {begin, ends_[at] - begin};
  }
  const std::uint64_t begin = index * kLargestFragment;
  return {begin, index + 1 < fragments_ ? kLargestFragment : length_ - begin};
}

Result<Plain> read_plain(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                         const Limits& limits) {
  ASSIGN_OR_RETURN(auto layout, read_table(context, source, chunk, limits));
  const Frames frames = frames_of(chunk);
  if (frames.is_cut() && !could_be_read(layout.end(), chunk.stored_size, limits)) {
    return Error{Code::kLimit, chunk.begin, fmt::format("{} bytes in one block exceed the limit", layout.end())};
  }
  const bool all_full = chunk.stored_size - frames.last_size == (frames.there - 1) * kLargestFragment;
  if (all_full && fits(frames, chunk.stored_size, layout.end())) {
    return Plain{std::move(layout), Placement(frames.there, chunk.stored_size)};
  }
  ASSIGN_OR_RETURN(auto placement, survey(context, source, chunk, layout.end()));
  if (placement) return Plain{std::move(layout), std::move(*placement)};
  return Error{
      Code::kDamage, chunk.begin,
      fmt::format("the items of the block take {}, the block {}", counted(layout.end(), "byte"), chunk.stored_size)};
}

Layout plain_layout(const RequestContext& context, const Source& source, const ChunkInfo& chunk, const Plain& plain) {
  return plain.layout.end() > plain.placement.length() ? marked(context, source, chunk, plain, {}) : plain.layout;
}

namespace {

// Returns the chunk if all its frames are valid and full, as writers leave them; otherwise null. Fails as Source does.
Result<std::shared_ptr<const Chunk>> decode_intact(const RequestContext& context, const Source& source,
                                                   const ChunkInfo& chunk, const Limits& limits) {
  const Frames frames = frames_of(chunk);
  const bool may_be_intact = !frames.is_cut() &&
                             chunk.stored_size - frames.last_size == (frames.there - 1) * kLargestFragment &&
                             chunk.stored_size <= std::min(limits.stored_chunk, limits.decoded_chunk);
  if (!may_be_intact) return std::shared_ptr<const Chunk>();
  auto stored = read_stored(context, source, chunk, chunk.stored_size);
  if (!stored && !is_permanent(stored.error().code)) return std::move(stored).error();
  if (!stored || stored->size() != chunk.stored_size) return std::shared_ptr<const Chunk>();
  auto layout = parse_table(context, stored->view(), stored->size(), limits);
  if (!layout || !*layout || (*layout)->end() != stored->size()) return std::shared_ptr<const Chunk>();
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(*stored), std::move(**layout)));
}

}  // namespace

Result<std::shared_ptr<const Chunk>> decode_plain(const RequestContext& context, std::shared_ptr<const Source> source,
                                                  const ChunkInfo& chunk, const Limits& limits) {
  ASSIGN_OR_RETURN(auto intact, decode_intact(context, *source, chunk, limits));
  if (intact) return intact;
  ASSIGN_OR_RETURN(auto plain, read_plain(context, *source, chunk, limits));
  TRY(check_limits(chunk, plain, limits));
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(plain.placement.length())));
  ASSIGN_OR_RETURN(const auto gaps, read_all(context, *source, chunk, plain, bytes.span()));
  if (gaps.empty() && plain.layout.end() <= bytes.size()) {
    return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(bytes), std::move(plain.layout)));
  }
  Layout layout = marked(context, *source, chunk, plain, gaps);
  return in_place(std::move(source), chunk, std::move(layout), std::move(plain.placement));
}

Result<void> verify_plain(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                          const Limits& limits) {
  ASSIGN_OR_RETURN(const auto plain, read_plain(context, source, chunk, limits));
  ASSIGN_OR_RETURN(const auto gaps, read_all(context, source, chunk, plain, {}));
  if (gaps.empty() && plain.layout.end() <= plain.placement.length()) return {};
  TRY(check_limits(chunk, plain, limits));
  const Layout layout = marked(context, source, chunk, plain, gaps);
  if (const Error* const failure = layout.first_failure()) return *failure;
  return {};
}

Result<std::shared_ptr<const Chunk>> open_plain_in_place(const RequestContext& context,
                                                         std::shared_ptr<const Source> source, const ChunkInfo& chunk,
                                                         const Limits& limits) {
  ASSIGN_OR_RETURN(auto plain, read_plain(context, *source, chunk, limits));
  Layout layout = plain_layout(context, *source, chunk, plain);
  return in_place(std::move(source), chunk, std::move(layout), std::move(plain.placement));
}

}  // namespace recordfs::recordio
