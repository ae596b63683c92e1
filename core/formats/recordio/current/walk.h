// What a step of the walk says of places where no chunk begins, and of chunks that are not whole. FORMAT.md, "Damage".
#pragma once

#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/recordio/current/runs.h"

namespace recordfs::recordio {

// Why no chunk begins at a place.
enum class Loss : std::uint8_t {
  kNone,        // ChunkKey::state where no search is under way
  kNoHeader,    // nothing that looks like a header
  kChecksum,    // a header whose checksum does not match
  kHeadless,    // a sound frame, but not the first of its chunk
  kUnfinished,  // the file ends inside the frame
};

// What stands at `at`, where no run begins. Fails as Source does.
Result<Loss> loss_at(Window& window, Position at);

// The region [begin, end) that was searched in vain.
DamagedRegion lost_region(Position begin, Position end, Loss loss);

// Frames of a chunk that are not sound, as regions. Fails as Source does.
Result<std::vector<DamagedRegion>> broken_frames(const Source& source, const ChunkInfo& chunk);

}  // namespace recordfs::recordio
