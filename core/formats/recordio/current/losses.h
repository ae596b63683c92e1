// What a scan step reports at positions where no chunk begins, and for incomplete chunks. FORMAT.md, "Damage".
#pragma once

#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/recordio/current/chunk_frames.h"

namespace recordfs::recordio {

// Why no chunk begins at a position.
enum class Loss : std::uint8_t {
  kNone,        // ChunkKey::state outside of a search
  kNoHeader,    // nothing that resembles a header
  kChecksum,    // a header whose checksum does not match
  kHeadless,    // a valid frame that is not the first of its chunk
  kUnfinished,  // the file ends inside the frame
};

// Classifies position `at`, where no run begins. Fails as Source does.
Result<Loss> loss_at(Window& window, Position at);

// Returns the region [begin, end), which a search passed without result.
DamagedRegion lost_region(Position begin, Position end, Loss loss);

// Returns the broken frames of a chunk as regions. Fails as Source does.
Result<std::vector<DamagedRegion>> broken_frames(const Source& source, const ChunkInfo& chunk);

}  // namespace recordfs::recordio
