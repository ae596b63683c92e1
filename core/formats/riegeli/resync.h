// Finds the next chunk behind damage. FORMAT.md, "Damage", has the rules and what they are for.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/riegeli/framing.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {

// A search that is under way.
struct Search {
  Position damaged = 0;       // where the walk stopped
  Phase phase = 0;            // of the blocks before
  Position least = 0;         // no chunk that begins before is looked for
  Position headers_from = 0;  // block headers of this phase that stand before were used up
  Position from = 0;          // what stands before was searched
  // A file signature was met that begins no block of this file: what follows may be a file inside a record, so that
  // chunk headers alone say nothing any more.
  bool is_foreign = false;
};

// Const, thread-safe, no cache.
class Resync {
 public:
  // REQUIRES: both outlive the object.
  Resync(const Source& source, const Framing& framing) : source_(source), framing_(framing) {}

  // Goes on with the search to the next multiple of the block size, behind a hole, or to `until`, and says where the
  // walk can go on; nullopt when that is not known yet. The same for the same search, whatever was searched at once.
  // Fails as Source does, and with kOutOfMemory. REQUIRES: search.from < until, which is in the file.
  Result<std::optional<Place>> advance(Search& search, Position until) const;

 private:
  // What a block header of the phase says: where the walk goes on, and before which byte chunks may stand that it does
  // not tell of.
  struct Told {
    Position resume = 0;
    Position fence = 0;
  };

  Result<std::optional<Told>> told_by(const Search& search, Position block) const;
  Result<std::optional<Place>> search_bytes(Search& search, Position end) const;
  Result<std::optional<Place>> by_block_header(const Search& search, Position block, const BlockHeader& header) const;
  Result<std::optional<Place>> by_chunk_header(const Search& search, Position begin, const ChunkHeader& header,
                                               std::uint64_t& spent) const;
  Result<std::optional<Place>> by_block_inside(const Search& search, Position begin, const ChunkHeader& header) const;
  Result<bool> has_sound_data(Position begin, const ChunkHeader& header, Phase phase) const;
  Result<bool> goes_on_behind(Position block) const;
  // Where to search on where there may be a hole at `from`: `from` itself where there is none.
  Result<Position> behind_hole_at(Position from) const;
  Result<bool> is_inside_of_sound_block(const Search& search, Position at) const;

  const Source& source_;
  const Framing& framing_;
};

}  // namespace recordfs::riegeli
