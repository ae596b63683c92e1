// Finds the next chunk after damage. FORMAT.md, "Damage", has the rules and their rationale.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/riegeli/framing.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {

// The state of a search.
struct Search {
  Position damaged = 0;       // where the scan stopped
  Phase phase = 0;            // phase of the blocks before `damaged`
  Position least = 0;         // ignore chunks that begin before this
  Position headers_from = 0;  // block headers of this phase before this have been used already
  Position from = 0;          // everything before this has been searched
  // A file signature was found where no block of this file begins. The bytes after it may be a file inside a record, so
  // chunk headers alone are no evidence any more.
  bool is_foreign = false;
};

// Const, thread-safe, no cache.
class Resync {
 public:
  // REQUIRES: `source` and `framing` outlive the object.
  Resync(const Source& source, const Framing& framing) : source_(source), framing_(framing) {}

  // Continues the search to the next multiple of the block size, to the end of a hole, or to `until`. Returns where the
  // scan can continue, or nullopt if that is not known yet. The result does not depend on how the search was split into
  // calls. Fails as Source does, and with kOutOfMemory. REQUIRES: search.from < until; `until` is in the file.
  Result<std::optional<Place>> advance(const RequestContext& context, Search& search, Position until) const;

 private:
  // The evidence of a block header of the phase: where the scan continues, and the end of the range that may hold
  // chunks that the header does not describe.
  struct Told {
    Position resume = 0;
    Position fence = 0;
  };

  Result<std::optional<Told>> told_by(const RequestContext& context, const Search& search, Position block) const;
  Result<std::optional<Place>> search_bytes(const RequestContext& context, Search& search, Position end) const;
  Result<std::optional<Place>> by_block_header(const RequestContext& context, const Search& search, Position block,
                                               const BlockHeader& header) const;
  Result<std::optional<Place>> by_chunk_header(const RequestContext& context, const Search& search, Position begin,
                                               const ChunkHeader& header, std::uint64_t& spent) const;
  Result<std::optional<Place>> by_block_inside(const RequestContext& context, const Search& search, Position begin,
                                               const ChunkHeader& header) const;
  Result<bool> has_sound_data(const RequestContext& context, Position begin, const ChunkHeader& header,
                              Phase phase) const;
  Result<bool> goes_on_behind(const RequestContext& context, Position block) const;
  // Returns where to continue the search if a hole begins at `from`; `from` itself if there is no hole.
  Result<Position> data_after_hole_at(const RequestContext& context, Position from) const;
  Result<bool> is_inside_of_sound_block(const RequestContext& context, const Search& search, Position at) const;

  const Source& source_;
  const Framing& framing_;
};

}  // namespace recordfs::riegeli
