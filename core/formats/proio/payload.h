// Locates the events of a payload and makes chunks of them. The payload of a chunk consists of the events without the
// lengths between them.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/bytes.h"
#include "core/base/cursor.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"
#include "core/formats/proio/wire.h"

namespace recordfs::proio {

// The complete events at the start of a payload.
struct EventRun {
  std::uint64_t events = 0;
  std::uint64_t end = 0;  // payload offset after the last event
};

// Calls `take` with each of at most `count` events of a payload in memory. Stops at the first one that does not fit.
// Thread-safe.
template <class Take>
EventRun each_event(Bytes payload, std::uint64_t count, const Take& take) {
  EventRun run;
  for (; run.events < count && payload.size() >= kEventLengthSize; ++run.events) {
    const std::size_t size = load_le<std::uint32_t>(payload.data());
    payload = payload.subspan(kEventLengthSize);
    if (size > payload.size()) break;
    take(payload.first(size));
    payload = payload.subspan(size);
    run.end += kEventLengthSize + size;
  }
  return run;
}

// The same for a payload of `size` bytes in the file, of which only the lengths are read. Adds each event to `layout`
// unless that is null. Fails as Source does. Thread-safe.
Result<EventRun> find_events(const RequestContext& context, const Source& source, Position payload, std::uint64_t size,
                             std::uint64_t count, Layout* layout);

// Returns the layout of an uncompressed bucket. Events that the header counts but the payload does not contain are
// failed records of one byte each. Fails as Source does. Thread-safe.
Result<Layout> event_layout(const RequestContext& context, const Source& source, const ChunkInfo& chunk);

// Makes a chunk from a decompressed payload, with the same layout. `has_checksum`: whether one covered the payload.
// Fails with kOutOfMemory.
Result<std::shared_ptr<const Chunk>> make_chunk(const RequestContext& context, const ChunkInfo& chunk, Slice payload,
                                                bool has_checksum);

// Makes a chunk that reads its uncompressed payload from the file on demand. Fails as Source does.
Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context, std::shared_ptr<const Source> source,
                                                   const ChunkInfo& chunk);

}  // namespace recordfs::proio
