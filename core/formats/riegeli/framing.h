// The scan over chunk headers and the search for the next chunk after damage. FORMAT.md, "Damage", has the rules and
// their rationale.
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

// A position where a chunk may begin, and the phase of the blocks there.
struct Place {
  Position begin = 0;
  Phase phase = 0;

  bool operator==(const Place&) const = default;
};

// A chunk with a verified header, and the broken block headers inside it. Its data is not verified.
struct SoundChunk {
  ChunkInfo info;
  std::vector<DamagedRegion> broken_block_headers;
};

// The file ends inside the chunk.
struct CutChunk {
  bool has_header = false;
};

// The chunk has a valid header and ends inside the file, but its records are refused as a whole.
struct RefusedChunk {
  Position end = 0;
  std::string_view reason;
};

// There is no chunk at the position, or its header contradicts the block headers.
struct LostChunk {
  std::string_view reason;
  Position search_from = 0;  // block headers before this position have been used already
  Position least = 0;        // no chunk begins before: block headers agree with the chunk up to here
};

using Examined = std::variant<SoundChunk, CutChunk, RefusedChunk, LostChunk>;

class Framing {
 public:
  // REQUIRES: `source` and `limits` outlive the object.
  Framing(const Source& source, const Limits& limits) : source_(source), limits_(limits) {}

  // Makes one step of the scan, as Container::scan(). A key's state holds the phase. If a search that began at the
  // key's position is under way, the state also holds its progress.
  Result<Step> scan(const RequestContext& context, ChunkKey at) const;

  // Returns whether scan(key) would continue a search.
  static bool is_searching(const ChunkKey& key) { return key.state >= kBlockSize; }
  // Returns the position up to which that search has found nothing.
  static Position searched(const ChunkKey& key);

  // The most bytes to search while one chunk is located.
  static constexpr std::uint64_t kLocateScanBytes = 1 << 20;
  // Returns whether the search of this key has exceeded the limit for locating one chunk.
  static bool has_searched_long(const ChunkKey& key) {
    return is_searching(key) && searched(key) > key.position + kLocateScanBytes;
  }

  // Returns the chunk as its header at `begin` declares it, or nullopt if no valid header is there. Costs one small
  // read and checks nothing after the header.
  Result<std::optional<ChunkInfo>> declared(const RequestContext& context, Position begin) const;

  // Returns the block header at a multiple of the block size, or nullopt if it is broken or truncated.
  Result<std::optional<BlockHeader>> block_header(const RequestContext& context, Position block) const;

  // Returns whether a chunk with a valid header begins at `begin` and ends at `end`.
  Result<bool> is_chunk(const RequestContext& context, Position begin, Position end, Phase phase = 0) const;
  // Returns whether a valid chunk header is at `place`, or `place` is at or after the end of the file.
  Result<bool> is_sound_or_end(const RequestContext& context, Place place) const;

  // Returns the first chunk that a block header of any phase, at or after `from`, points to and that begins at `at` or
  // earlier.
  Result<std::optional<Place>> chunk_in_shifted_blocks(const RequestContext& context, Position from, Position at) const;

  // Converts a chunk header to a ChunkInfo.
  static ChunkInfo describe(Place place, const ChunkHeader& header, std::string_view codec, const Limits& limits);

 private:
  // The start of a chunk, from one read.
  struct Opening {
    bool whole = false;                 // the file does not end inside the chunk header
    std::optional<ChunkHeader> header;  // nullopt: broken
    std::string_view codec = "-";
  };
  // The result of checking the block headers inside a chunk.
  struct BlockCheck {
    std::vector<DamagedRegion> broken;
    std::optional<LostChunk> contradiction;
  };

  Result<Opening> read_opening(const RequestContext& context, Place place) const;
  Result<Examined> examine(const RequestContext& context, Place place) const;
  Result<BlockCheck> check_blocks(const RequestContext& context, Place place, Position content_end,
                                  Position chunk_end) const;
  Result<Step> search(const RequestContext& context, Place damaged, const LostChunk& lost, std::uint64_t state) const;
  // Returns whether a chunk that declares a later end may end at `end`, where another one begins.
  Result<bool> may_end_at(const RequestContext& context, const ChunkInfo& chunk, Position end) const;
  // Returns the place of a chunk inside `outer`, whose data is damaged or whose end is missing.
  Result<std::optional<Place>> search_inside(const RequestContext& context, Place outer, Position least,
                                             Position end) const;
  // Continues the scan at `found`, the result of a search from `damaged`. Returns nullopt if no valid chunk begins
  // there.
  Result<std::optional<Step>> go_on(const RequestContext& context, Place damaged, Place found,
                                    std::string_view reason) const;
  Result<Step> step_over(const RequestContext& context, SoundChunk sound) const;
  Result<Step> step_over_cut(const RequestContext& context, Place place, bool has_header) const;

  const Source& source_;
  const Limits& limits_;
};

}  // namespace recordfs::riegeli
