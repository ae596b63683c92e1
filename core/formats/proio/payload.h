// The events of a payload: where they stand, and a chunk of them. Between the events stand their lengths, which belong
// to no record: a chunk's payload is the events alone.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/chunk.h"
#include "core/formats/container.h"

namespace recordfs::proio {

// The whole events at the beginning of a payload.
struct EventRun {
  std::uint64_t events = 0;
  std::uint64_t end = 0;  // offset in the payload behind the last
};

// Follows the lengths of at most `count` events of a payload of `size` bytes, which is in the file or in memory, and
// adds each event to `layout` unless that is null. It stops where one does not fit. Fails as Source does. Any thread.
Result<EventRun> find_events(const Source& source, Position payload, std::uint64_t size, std::uint64_t count,
                             Layout* layout);
EventRun find_events(Bytes payload, std::uint64_t count, Layout* layout);

// Where the events of an uncompressed bucket stand. Those that its header counts and the payload does not hold are
// failed ones of one byte each. Fails as Source does. Any thread.
Result<Layout> event_layout(const Source& source, const ChunkInfo& chunk);

// A chunk out of a decompressed payload, with the same layout. Fails with kOutOfMemory.
Result<std::shared_ptr<const Chunk>> make_chunk(const ChunkInfo& chunk, Buffer payload);

// A chunk whose uncompressed payload stays in the file. Fails as Source does.
Result<std::shared_ptr<const Chunk>> make_parts_chunk(std::shared_ptr<const Source> source, const ChunkInfo& chunk);

}  // namespace recordfs::proio
