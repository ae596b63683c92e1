#include "core/formats/proio/payload.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/cursor.h"
#include "core/base/windowed_reader.h"
#include "core/formats/chunk.h"
#include "core/formats/proio/framing.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {
namespace {

constexpr std::uint64_t kLengthWindow = 4096;
constexpr std::uint64_t kFailedSize = 1;  // size in the payload of an event that is missing

// `length_at` returns the length at an offset of the payload.
template <class LengthAt>
Result<EventRun> follow(const RequestContext& context, std::uint64_t size, std::uint64_t count, Layout* layout,
                        LengthAt length_at) {
  EventRun run;
  while (run.events < count && size - run.end >= kEventLengthSize) {
    ASSIGN_OR_RETURN(const std::uint32_t length, length_at(run.end));
    if (length > size - run.end - kEventLengthSize) break;
    if (layout != nullptr) layout->add(context, length);
    run.end += kEventLengthSize + length;
    ++run.events;
  }
  return run;
}

// Returns the payload offset, including lengths, of byte `offset` of the events.
std::uint64_t stored_offset(std::uint64_t index, std::uint64_t offset) {
  return offset + (index + 1) * kEventLengthSize;
}

// Copies bytes [from, to) of the events to `out`. `stored` begins at byte `from`, in event `index`, and contains the
// lengths between events. `out` may be the same memory as `stored`, or begin before it.
void close_gaps(const Layout& layout, std::uint64_t index, std::uint64_t from, std::uint64_t to, Bytes stored,
                MutableBytes out) {
  std::uint64_t gaps = 0;
  for (std::uint64_t at = from; at < to; ++index, gaps += kEventLengthSize) {
    const Extent extent = layout.extent(index);
    const std::uint64_t end = std::min(extent.begin + extent.size, to);
    const Bytes piece = stored.subspan(static_cast<std::size_t>(at - from + gaps), static_cast<std::size_t>(end - at));
    // Moves forwards to lower addresses, so overwritten bytes were already moved. (std::ranges::copy would copy byte by
    // byte.)
    if (!piece.empty()) std::memmove(out.data() + (at - from), piece.data(), piece.size());
    at = end;
  }
}

// Reads bytes of the events that are stored from `payload` on.
Result<Buffer> read_events(const RequestContext& context, const Source& source, Position payload, const Layout& layout,
                           std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t first = layout.index_at(offset);
  const std::uint64_t last = layout.index_at(offset + length - 1);
  // Events that do not fit into the bucket are always the last ones.
  if (const Error* failure = layout.failure(last)) return *failure;
  const Position begin = payload + stored_offset(first, offset);
  ASSIGN_OR_RETURN(auto bytes, read_exactly(context, source, begin, length + (last - first) * kEventLengthSize));
  close_gaps(layout, first, offset, offset + length, bytes.view(), bytes.span());
  bytes.truncate(static_cast<std::size_t>(length));
  return bytes;
}

}  // namespace

Result<EventRun> find_events(const RequestContext& context, const Source& source, Position payload, std::uint64_t size,
                             std::uint64_t count, Layout* layout) {
  WindowedReader window(source, kLengthWindow);
  return follow(context, size, count, layout, [&](std::uint64_t offset) -> Result<std::uint32_t> {
    ASSIGN_OR_RETURN(const auto bytes, window.from(context, payload + offset, kEventLengthSize));
    return Cursor(bytes).u32_le();
  });
}

EventRun find_events(const RequestContext& context, Bytes payload, std::uint64_t count, Layout* layout) {
  return *follow(context, payload.size(), count, layout, [&](std::uint64_t offset) -> Result<std::uint32_t> {
    return Cursor(payload.subspan(static_cast<std::size_t>(offset))).u32_le();
  });
}

void add_missing(const RequestContext& context, const ChunkInfo& chunk, Layout& layout) {
  const std::uint64_t there = layout.records();
  const std::uint64_t counted = chunk.records.value_or(0);
  if (there >= counted) return;
  const Error why{Code::kDamage, chunk.begin,
                  fmt::format("event {} of the {} in the bucket does not fit into it", there, counted)};
  layout.add_failed(context, counted - there, kFailedSize, why);
}

Result<std::shared_ptr<const Chunk>> make_chunk(const RequestContext& context, const ChunkInfo& chunk, Buffer payload) {
  Layout layout;
  const EventRun run = find_events(context, payload.view(), chunk.records.value_or(0), &layout);
  add_missing(context, chunk, layout);
  const std::uint64_t end = run.end - run.events * kEventLengthSize;
  const auto size = static_cast<std::size_t>(layout.end());
  std::optional<Buffer> longer;
  if (size > payload.size()) {
    ASSIGN_OR_RETURN(auto allocated, Buffer::allocate(context, size));
    longer = std::move(allocated);
  }
  Buffer& out = longer ? *longer : payload;
  if (end > 0) close_gaps(layout, 0, 0, end, payload.view().subspan(kEventLengthSize), out.span());
  out.truncate(size);
  std::ranges::fill(out.span().subspan(static_cast<std::size_t>(end)), std::byte{0});
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(out), std::move(layout)));
}

Result<Layout> event_layout(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
  Layout layout;
  TRY(find_events(context, source, payload_begin(chunk), chunk.stored_size, chunk.records.value_or(0), &layout));
  add_missing(context, chunk, layout);
  return layout;
}

Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context, std::shared_ptr<const Source> source,
                                                   const ChunkInfo& chunk) {
  ASSIGN_OR_RETURN(auto layout, event_layout(context, *source, chunk));
  const auto read = [payload = payload_begin(chunk)](const RequestContext& request, const Source& from,
                                                     const Layout& events, std::uint64_t offset, std::uint64_t length) {
    return read_events(request, from, payload, events, offset, length);
  };
  return std::shared_ptr<const Chunk>(std::make_shared<FileChunk>(std::move(source), std::move(layout), read));
}

}  // namespace recordfs::proio
