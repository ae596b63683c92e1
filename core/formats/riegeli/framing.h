// The walk over chunk headers, and the search for the next chunk behind damage. FORMAT.md, "Damage", has the
// rules and what they are for.
//
// Const, thread-safe, no cache: each call reads what it needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/container.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {

// The chunk at a position, its header verified, and the block headers inside it that are broken. Its data
// was not looked at.
struct SoundChunk {
  ChunkInfo info;
  std::vector<DamagedRegion> broken_block_headers;
};

// The file ends inside the chunk.
struct CutChunk {};

// The chunk's header is sound and its end inside the file, but its records are refused as a whole.
struct RefusedChunk {
  Position end = 0;
  std::string_view reason;
};

// What stands at the position is no chunk, or can't be one as its header says.
struct LostChunk {
  std::string_view reason;
  Position search_from = 0;  // block headers before this one were used up
};

using Examined = std::variant<SoundChunk, CutChunk, RefusedChunk, LostChunk>;

class Framing {
 public:
  // REQUIRES: both outlive the object.
  Framing(const Source& source, const Limits& limits) : source_(source), limits_(limits) {}

  // One step of the walk, as Container::scan says. A key's state is the number of the block at which a search
  // goes on that began at the key's position, 0 where no search is under way.
  Result<Step> scan(ChunkKey at) const;

  // What the chunk header at `begin` says alone, at the cost of one small read: nothing behind it was looked at.
  // nullopt where there is no sound one.
  Result<std::optional<ChunkInfo>> declared(Position begin) const;

  // The block header at a multiple of the block size; nullopt where it is broken or cut off.
  Result<std::optional<BlockHeader>> block_header(Position block) const;

  // Whether a chunk with a sound header begins at `begin` and ends at `end`.
  Result<bool> is_chunk(Position begin, Position end) const;

 private:
  // The bytes at the begin of a chunk, read at once.
  struct Opening {
    bool whole = false;                 // the file does not end inside the chunk header
    std::optional<ChunkHeader> header;  // nullopt: broken
    std::string_view codec = "-";
  };
  // How the block headers inside a chunk look.
  struct BlockCheck {
    std::vector<DamagedRegion> broken;
    std::optional<LostChunk> contradiction;
  };

  Result<Opening> read_opening(Position begin) const;
  Result<Examined> examine(Position begin) const;
  Result<BlockCheck> check_blocks(Position begin, Position content_end, Position chunk_end) const;
  Result<Step> search(Position damaged, std::string_view reason, Position from) const;
  // Where reading goes on that was stopped at `damaged`, by the header of a block behind it; nullopt when the
  // header leads nowhere.
  Result<std::optional<Position>> resume_position(Position damaged, Position block, const BlockHeader& header) const;
  static ChunkInfo describe(Position begin, const ChunkHeader& header, std::string_view codec);

  const Source& source_;
  const Limits& limits_;
};

}  // namespace recordfs::riegeli
