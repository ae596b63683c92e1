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

// Where a chunk may begin, in a part of the file in which blocks have this phase.
struct Place {
  Position begin = 0;
  Phase phase = 0;

  bool operator==(const Place&) const = default;
};

// The chunk at a position, its header verified, and the block headers inside it that are broken. Its data
// was not looked at.
struct SoundChunk {
  ChunkInfo info;
  std::vector<DamagedRegion> broken_block_headers;
};

// The file ends inside the chunk.
struct CutChunk {
  bool has_header = false;
};

// The chunk's header is sound and its end inside the file, but its records are refused as a whole.
struct RefusedChunk {
  Position end = 0;
  std::string_view reason;
};

// What stands at the position is no chunk, or can't be one as its header says.
struct LostChunk {
  std::string_view reason;
  Position search_from = 0;  // block headers before this one were used up
  Position least = 0;        // as far as block headers agree with the chunk's
};

using Examined = std::variant<SoundChunk, CutChunk, RefusedChunk, LostChunk>;

class Framing {
 public:
  // REQUIRES: both outlive the object.
  Framing(const Source& source, const Limits& limits) : source_(source), limits_(limits) {}

  // One step of the walk, as Container::scan says. A key's state has the phase, and where a search is under way that
  // began at the key's position, how far it has come.
  Result<Step> scan(ChunkKey at) const;

  // Whether the walk would go on searching from this key.
  static bool is_searching(const ChunkKey& key) { return key.state >= kBlockSize; }
  // Before which byte nothing was found then.
  static Position searched(const ChunkKey& key);

  // So much is searched, at the most, while one chunk is located.
  static constexpr std::uint64_t kLocateScanBytes = 1 << 20;
  // Whether a search that goes on from this key has taken too long for looking up one chunk.
  static bool has_searched_long(const ChunkKey& key) {
    return is_searching(key) && searched(key) > key.position + kLocateScanBytes;
  }

  // What the chunk header at `begin` says alone, at the cost of one small read: nothing behind it was looked at.
  // nullopt where there is no sound one.
  Result<std::optional<ChunkInfo>> declared(Position begin) const;

  // The block header at a multiple of the block size; nullopt where it is broken or cut off.
  Result<std::optional<BlockHeader>> block_header(Position block) const;

  // Whether a chunk with a sound header begins at `begin` and ends at `end`.
  Result<bool> is_chunk(Position begin, Position end, Phase phase = 0) const;
  // Whether a sound chunk header stands at `begin`, or the file ends there.
  Result<bool> is_sound_or_end(Place place) const;

  // The first chunk from `from` on of which a block header of whichever phase tells, and which begins at `at` or
  // before.
  Result<std::optional<Place>> chunk_in_shifted_blocks(Position from, Position at) const;

  // What a chunk with this header is.
  static ChunkInfo describe(Place place, const ChunkHeader& header, std::string_view codec, const Limits& limits);

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

  Result<Opening> read_opening(Place place) const;
  Result<Examined> examine(Place place) const;
  Result<BlockCheck> check_blocks(Place place, Position content_end, Position chunk_end) const;
  Result<Step> search(Place damaged, const LostChunk& lost, std::uint64_t state) const;
  // Where a chunk begins that stands inside of one whose data or end is not there.
  Result<std::optional<Place>> search_inside(Place outer, Position least, Position end) const;
  // The walk goes on at `found`, which was searched from `damaged` on. nullopt where no sound chunk begins there after
  // all.
  Result<std::optional<Step>> go_on(Place damaged, Place found, std::string_view reason) const;
  Result<Step> step_over(SoundChunk sound) const;
  Result<Step> step_over_cut(Place place, bool has_header) const;

  const Source& source_;
  const Limits& limits_;
};

}  // namespace recordfs::riegeli
