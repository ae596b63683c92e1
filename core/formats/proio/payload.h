// Locates the events of a payload and makes chunks of them. The payload of a chunk consists of the events without the
// lengths between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"

namespace recordfs::proio {

// The bytes of a decompressed payload: events and their lengths. They are in memory, in one or more pieces. Movable.
class Payload {
 public:
  Payload() = default;
  explicit Payload(Slice bytes) { add(std::move(bytes)); }
  // Returns bytes of the file, without a copy if they are in memory. Fails like read_exactly().
  static Result<Payload> stored_at(const RequestContext& context, const Source& source, Position begin,
                                   std::uint64_t size);

  std::uint64_t size() const { return pieces_.empty() ? 0 : pieces_.back().end; }
  // Returns the bytes from `offset` on, up to the end of their piece. REQUIRES: offset < size().
  Slice from(std::uint64_t offset) const;

 private:
  struct Piece {
    std::uint64_t end = 0;  // in the payload
    Slice slice;
  };

  void add(Slice bytes);

  std::vector<Piece> pieces_;  // none is empty
};

// The complete events at the start of a payload.
struct EventRun {
  std::uint64_t events = 0;
  std::uint64_t end = 0;  // payload offset after the last event
};

// Follows the lengths of at most `count` events in a payload of `size` bytes, in the file or in memory. Adds each event
// to `layout` unless that is null. Stops at the first event that does not fit. Fails as Source does. Thread-safe.
Result<EventRun> find_events(const RequestContext& context, const Source& source, Position payload, std::uint64_t size,
                             std::uint64_t count, Layout* layout);
EventRun find_events(const RequestContext& context, const Payload& payload, std::uint64_t count, Layout& layout);

// Returns the layout of an uncompressed bucket. Events that the header counts but the payload does not contain are
// failed records of one byte each. Fails as Source does. Thread-safe.
Result<Layout> event_layout(const RequestContext& context, const Source& source, const ChunkInfo& chunk);

// Makes a chunk from a decompressed payload, with the same layout. `has_checksum`: whether one covered the payload.
// Fails with kOutOfMemory.
Result<std::shared_ptr<const Chunk>> make_chunk(const RequestContext& context, const ChunkInfo& chunk, Payload payload,
                                                bool has_checksum);

// Makes a chunk that reads its uncompressed payload from the file on demand. Fails as Source does.
Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context, std::shared_ptr<const Source> source,
                                                   const ChunkInfo& chunk);

}  // namespace recordfs::proio
