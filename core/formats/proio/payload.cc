#include "core/formats/proio/payload.h"

#include <algorithm>
#include <cstring>
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

// Returns the payload offset, including lengths, of byte `offset` of the events.
std::uint64_t stored_offset(std::uint64_t index, std::uint64_t offset) {
  return offset + (index + 1) * kEventLengthSize;
}

// Copies events, from byte `offset` of all of them on, to `out`, which may be the beginning of `stored`. That begins
// with this byte and has the lengths between the events.
void copy_events(const Layout& layout, std::uint64_t offset, Bytes stored, MutableBytes out) {
  for (std::uint64_t index = layout.index_at(offset); !out.empty(); ++index) {
    const Extent event = layout.extent(index);
    const std::size_t size = std::min(static_cast<std::size_t>(event.begin + event.size - offset), out.size());
    // (std::ranges::copy would copy byte by byte.)
    if (size > 0) std::memmove(out.data(), stored.data(), size);
    out = out.subspan(size);
    if (out.empty()) return;
    stored = stored.subspan(size + kEventLengthSize);
    offset += size;
  }
}

// A chunk of complete events, with the lengths between them. Reads of one event need no copy.
class EventsChunk final : public Chunk {
 public:
  EventsChunk(Slice payload, Layout layout) : Chunk(std::move(layout)), payload_(std::move(payload)) {}

  std::uint64_t payload_size() const override { return layout().end(); }
  bool is_in_memory() const override { return true; }
  std::uint64_t memory() const override { return sizeof(*this) + payload_.bytes.size() + layout().memory(); }

  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0) return Slice{};
    const std::uint64_t index = layout().index_at(offset);
    const Extent event = layout().extent(index);
    const Bytes stored = payload_.bytes.subspan(static_cast<std::size_t>(stored_offset(index, offset)));
    const auto size = static_cast<std::size_t>(length);
    if (length <= event.begin + event.size - offset) return Slice{stored.first(size), payload_.owner};
    ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, size));
    copy_events(layout(), offset, stored, bytes.span());
    return owned(std::move(bytes));
  }

 private:
  const Slice payload_;
};

// Reads bytes of the events that are stored from `payload` on.
Result<Buffer> read_events(const RequestContext& context, const Source& source, Position payload, const Layout& layout,
                           std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t first = layout.index_at(offset);
  const std::uint64_t last = layout.index_at(offset + length - 1);
  // Events that do not fit into the bucket are always the last ones.
  if (const Error* failure = layout.failure(last)) return *failure;
  const Position begin = payload + stored_offset(first, offset);
  ASSIGN_OR_RETURN(auto bytes, read_exactly(context, source, begin, length + (last - first) * kEventLengthSize));
  copy_events(layout, offset, bytes.view(), bytes.span().first(static_cast<std::size_t>(length)));
  bytes.truncate(static_cast<std::size_t>(length));
  return bytes;
}

}  // namespace

Result<EventRun> find_events(const RequestContext& context, const Source& source, Position payload, std::uint64_t size,
                             std::uint64_t count, Layout* layout) {
  WindowedReader window(source, kLengthWindow);
  EventRun run;
  for (; run.events < count && size - run.end >= kEventLengthSize; ++run.events) {
    ASSIGN_OR_RETURN(const auto bytes, window.from(context, payload + run.end, kEventLengthSize));
    const std::uint32_t length = Cursor(bytes).u32_le();
    if (length > size - run.end - kEventLengthSize) break;
    if (layout != nullptr) layout->add(context, length);
    run.end += kEventLengthSize + length;
  }
  return run;
}

void add_missing(const RequestContext& context, const ChunkInfo& chunk, Layout& layout) {
  const std::uint64_t there = layout.records();
  const std::uint64_t counted = chunk.records.value_or(0);
  if (there >= counted) return;
  const Error why{Code::kDamage, chunk.begin,
                  fmt::format("event {} of the {} in the bucket does not fit into it", there, counted)};
  layout.add_failed(context, counted - there, kFailedSize, why);
}

Result<std::shared_ptr<const Chunk>> make_chunk(const RequestContext& context, const ChunkInfo& chunk, Slice payload,
                                                bool has_checksum) {
  const std::uint64_t count = chunk.records.value_or(0);
  Layout layout;
  if (!has_checksum) layout.set_unchecked();
  layout.reserve(context, std::min<std::uint64_t>(count, payload.bytes.size() / kEventLengthSize));
  const EventRun run = each_event(payload.bytes, count, [&](Bytes event) { layout.add(context, event.size()); });
  if (run.events == count) {
    return std::shared_ptr<const Chunk>(std::make_shared<EventsChunk>(std::move(payload), std::move(layout)));
  }
  const auto end = static_cast<std::size_t>(layout.end());
  add_missing(context, chunk, layout);
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(layout.end())));
  if (end > 0) {
    const Bytes stored = payload.bytes.subspan(static_cast<std::size_t>(stored_offset(layout.index_at(0), 0)));
    copy_events(layout, 0, stored, bytes.span().first(end));
  }
  std::ranges::fill(bytes.span().subspan(end), std::byte{0});
  return std::shared_ptr<const Chunk>(std::make_shared<BufferChunk>(std::move(bytes), std::move(layout)));
}

Result<Layout> event_layout(const RequestContext& context, const Source& source, const ChunkInfo& chunk) {
  Layout layout;
  layout.set_unchecked();
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
