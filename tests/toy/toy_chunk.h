// The payload of a toy chunk: its layout and its bytes. `chunk` is a ChunkInfo from scan().
#pragma once

#include <memory>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs::toy {

// Returns the verified payload. Fails with kLimit, kDamage or kUnsupported, or with the source's error.
Result<Buffer> read_payload(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                            const Limits& limits);

// The three functions below fail like read_payload, and with kDamage if the sizes do not add up.
Result<Layout> read_layout(const RequestContext& context, const Source& source, const ChunkInfo& chunk,
                           const Limits& limits);
Result<std::shared_ptr<const Chunk>> read_chunk(const RequestContext& context, const Source& source,
                                                const ChunkInfo& chunk, const Limits& limits);
// Returns a chunk that holds no payload and rereads it for each call of Chunk::read.
Result<std::shared_ptr<const Chunk>> open_in_place(const RequestContext& context, std::shared_ptr<const Source> source,
                                                   const ChunkInfo& chunk, const Limits& limits);

}  // namespace recordfs::toy
