// What a toy chunk's payload says: its layout, its bytes. `chunk` is what scan() found.
#pragma once

#include <memory>

#include "core/base/limits.h"
#include "core/base/source.h"
#include "core/formats/container.h"

namespace recordfs::toy {

// The payload, verified. Fails with kLimit, kDamage, kUnsupported, and as Source does.
Result<Buffer> read_payload(const Source& source, const ChunkInfo& chunk, const Limits& limits);

// All three fail as read_payload does, and with kDamage where the sizes do not add up.
Result<Layout> read_layout(const Source& source, const ChunkInfo& chunk, const Limits& limits);
Result<std::shared_ptr<const Chunk>> read_chunk(const Source& source, const ChunkInfo& chunk, const Limits& limits);
// A chunk that holds no payload and reads it again for each call of Chunk::read.
Result<std::shared_ptr<const Chunk>> open_parts(std::shared_ptr<const Source> source, const ChunkInfo& chunk,
                                                const Limits& limits);

}  // namespace recordfs::toy
