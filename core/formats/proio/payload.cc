#include "core/formats/proio/payload.h"

#include <algorithm>
#include <array>
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

// Finds the events of a payload, in order.
class EventWalk {
 public:
  EventWalk(std::uint64_t size, std::uint64_t count) : size_(size), count_(count) {}

  // Returns whether the payload has room for another length.
  bool wants_length() const { return run_.events < count_ && size_ - run_.end >= kEventLengthSize; }
  // Returns whether the next event, of this length, is complete. REQUIRES: wants_length().
  bool take(std::uint64_t length) {
    if (length > size_ - run_.end - kEventLengthSize) return false;
    run_.end += kEventLengthSize + length;
    ++run_.events;
    return true;
  }
  const EventRun& run() const { return run_; }

 private:
  const std::uint64_t size_;
  const std::uint64_t count_;
  EventRun run_;
};

// Reads a payload at offsets that do not decrease.
class PayloadReader {
 public:
  explicit PayloadReader(const Payload& payload) : payload_(payload) {}

  // Returns the bytes from `offset` on, up to the end of their piece. REQUIRES: offset < payload.size().
  Bytes from(std::uint64_t offset) {
    if (offset - begin_ >= piece_.size()) {
      piece_ = payload_.from(offset).bytes;
      begin_ = offset;
    }
    return piece_.subspan(static_cast<std::size_t>(offset - begin_));
  }
  // REQUIRES: the bytes are in the payload.
  void copy(std::uint64_t offset, MutableBytes out) {
    while (!out.empty()) {
      const Bytes rest = from(offset);
      const Bytes bytes = rest.first(std::min(rest.size(), out.size()));
      copy_bytes(bytes, out);
      out = out.subspan(bytes.size());
      offset += bytes.size();
    }
  }
  std::uint32_t length_at(std::uint64_t offset) {
    const Bytes rest = from(offset);
    if (rest.size() >= kEventLengthSize) return load_le<std::uint32_t>(rest.data());
    std::array<std::byte, kEventLengthSize> joined{};
    copy(offset, joined);
    return load_le<std::uint32_t>(joined.data());
  }

 private:
  const Payload& payload_;
  Bytes piece_;
  std::uint64_t begin_ = 0;  // of the piece, in the payload
};

// Returns the payload offset, including lengths, of byte `offset` of the events.
std::uint64_t stored_offset(std::uint64_t index, std::uint64_t offset) {
  return offset + (index + 1) * kEventLengthSize;
}

// Copies bytes of the events to `out`, from byte `offset` on, without the lengths between them. REQUIRES: the payload
// has them.
void copy_events(const Layout& layout, const Payload& payload, std::uint64_t offset, MutableBytes out) {
  PayloadReader reader(payload);
  for (std::uint64_t index = layout.index_at(offset); !out.empty(); ++index) {
    const Extent extent = layout.extent(index);
    const std::uint64_t size = std::min<std::uint64_t>(extent.begin + extent.size - offset, out.size());
    reader.copy(stored_offset(index, offset), out.first(static_cast<std::size_t>(size)));
    out = out.subspan(static_cast<std::size_t>(size));
    offset += size;
  }
}

// A chunk of complete events, with the lengths between them. Reads of one event need no copy.
class EventsChunk final : public Chunk {
 public:
  EventsChunk(Payload payload, Layout layout) : Chunk(std::move(layout)), payload_(std::move(payload)) {}

  std::uint64_t payload_size() const override { return layout().end(); }
  bool is_in_memory() const override { return true; }
  std::uint64_t memory() const override { return sizeof(*this) + payload_.size() + layout().memory(); }

  Result<Slice> read(const RequestContext& context, std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0) return Slice{};
    const std::uint64_t index = layout().index_at(offset);
    const Extent event = layout().extent(index);
    if (length <= event.begin + event.size - offset) {
      Slice rest = payload_.from(stored_offset(index, offset));
      if (rest.bytes.size() >= length) {
        rest.bytes = rest.bytes.first(static_cast<std::size_t>(length));
        return rest;
      }
    }
    ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(length)));
    copy_events(layout(), payload_, offset, bytes.span());
    return owned(std::move(bytes));
  }

 private:
  const Payload payload_;
};

// Moves the events from byte `offset` on together. `bytes` begins there, and has the lengths between them.
void close_gaps(const Layout& layout, std::uint64_t offset, MutableBytes bytes) {
  std::size_t to = 0;
  std::size_t from = 0;
  for (std::uint64_t index = layout.index_at(offset); from < bytes.size(); ++index) {
    const Extent event = layout.extent(index);
    const std::size_t size = std::min(static_cast<std::size_t>(event.begin + event.size - offset), bytes.size() - from);
    // (std::ranges::copy would copy byte by byte.)
    if (size > 0) std::memmove(bytes.data() + to, bytes.data() + from, size);
    to += size;
    from += size + kEventLengthSize;
    offset += size;
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
  close_gaps(layout, offset, bytes.span());
  bytes.truncate(static_cast<std::size_t>(length));
  return bytes;
}

}  // namespace

Result<Payload> Payload::stored_at(const RequestContext& context, const Source& source, Position begin,
                                   std::uint64_t size) {
  Payload payload;
  while (payload.size() < size) {
    const Position at = begin + payload.size();
    ASSIGN_OR_RETURN(auto bytes, source.view_front(context, at, size - payload.size()));
    if (bytes.bytes.empty()) return Error{Code::kUnfinished, at, "unexpected end of file"};
    payload.add(std::move(bytes));
  }
  return payload;
}

Slice Payload::from(std::uint64_t offset) const {
  const auto piece = std::ranges::upper_bound(pieces_, offset, {}, &Piece::end);
  const std::uint64_t rest = piece->end - offset;
  return {piece->slice.bytes.last(static_cast<std::size_t>(rest)), piece->slice.owner};
}

void Payload::add(Slice bytes) {
  if (!bytes.bytes.empty()) pieces_.push_back({size() + bytes.bytes.size(), std::move(bytes)});
}

Result<EventRun> find_events(const RequestContext& context, const Source& source, Position payload, std::uint64_t size,
                             std::uint64_t count, Layout* layout) {
  WindowedReader window(source, kLengthWindow);
  EventWalk walk(size, count);
  while (walk.wants_length()) {
    ASSIGN_OR_RETURN(const auto bytes, window.from(context, payload + walk.run().end, kEventLengthSize));
    const std::uint32_t length = Cursor(bytes).u32_le();
    if (!walk.take(length)) break;
    if (layout != nullptr) layout->add(context, length);
  }
  return walk.run();
}

EventRun find_events(const RequestContext& context, const Payload& payload, std::uint64_t count, Layout& layout) {
  PayloadReader reader(payload);
  EventWalk walk(payload.size(), count);
  while (walk.wants_length()) {
    const std::uint32_t length = reader.length_at(walk.run().end);
    if (!walk.take(length)) break;
    layout.add(context, length);
  }
  return walk.run();
}

void add_missing(const RequestContext& context, const ChunkInfo& chunk, Layout& layout) {
  const std::uint64_t there = layout.records();
  const std::uint64_t counted = chunk.records.value_or(0);
  if (there >= counted) return;
  const Error why{Code::kDamage, chunk.begin,
                  fmt::format("event {} of the {} in the bucket does not fit into it", there, counted)};
  layout.add_failed(context, counted - there, kFailedSize, why);
}

Result<std::shared_ptr<const Chunk>> make_chunk(const RequestContext& context, const ChunkInfo& chunk, Payload payload,
                                                bool has_checksum) {
  const std::uint64_t count = chunk.records.value_or(0);
  Layout layout;
  if (!has_checksum) layout.set_unchecked();
  layout.reserve(context, std::min(count, payload.size() / kEventLengthSize));
  const EventRun run = find_events(context, payload, count, layout);
  if (run.events == count) {
    return std::shared_ptr<const Chunk>(std::make_shared<EventsChunk>(std::move(payload), std::move(layout)));
  }
  const auto end = static_cast<std::size_t>(layout.end());
  add_missing(context, chunk, layout);
  ASSIGN_OR_RETURN(auto bytes, Buffer::allocate(context, static_cast<std::size_t>(layout.end())));
  copy_events(layout, payload, 0, bytes.span().first(end));
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
