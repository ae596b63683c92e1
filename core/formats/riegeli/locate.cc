#include "core/formats/riegeli/locate.h"

#include <algorithm>

#include "core/formats/riegeli/framing.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {
namespace {

// The most broken block headers in a row to skip backwards.
constexpr int kBlocksTried = 8;
// How far before a byte to search for a block header if the phase is not 0.
constexpr Position kLookedBack = 2 * kBlockSize;
// The most chunk headers to read in one search: more than fit into the tried blocks.
constexpr int kMostSteps = 16384;
// How much is read at once after the byte: a small chunk and the next one's header.
constexpr std::uint64_t kReadAfter = 8 << 10;

// The bytes of a file from one position on, in memory. They may be none.
struct LoadedPart {
  Position begin = 0;
  Slice slice{};

  // Returns `size` bytes from `at` on; none if they are not all here.
  Bytes range(Position at, std::uint64_t size) const {
    const Bytes bytes = slice.bytes;
    const bool is_here = at >= begin && at - begin <= bytes.size() && size <= bytes.size() - (at - begin);
    return is_here ? bytes.subspan(static_cast<std::size_t>(at - begin), static_cast<std::size_t>(size)) : Bytes{};
  }
};

// Reads from a part what it has, and the rest from the file.
class PartlyLoadedFile final : public Source {
 public:
  // Both must outlive this.
  PartlyLoadedFile(const Source& file, const LoadedPart& part) : file_(file), part_(part) {}

  std::uint64_t size() const override { return file_.size(); }
  Result<std::size_t> read_at(const RequestContext& context, Position at, MutableBytes out) const override {
    const Bytes loaded = part_.range(at, out.size());
    if (loaded.empty()) return file_.read_at(context, at, out);
    copy_bytes(loaded, out);
    return loaded.size();
  }
  Result<Position> next_data(const RequestContext& context, Position at) const override {
    return file_.next_data(context, at);
  }

 private:
  const Source& file_;
  const LoadedPart& part_;
};

// Returns a chunk boundary from which a scan can reach `at`, from the header of one block. Returns nullopt if the
// header is broken or contradicts the chunk that it names.
Result<std::optional<Position>> walk_start(const RequestContext& context, const Framing& framing, Position block,
                                           Position at) {
  if (block == 0) return std::optional<Position>(0);
  ASSIGN_OR_RETURN(const auto read, framing.block_header(context, block));
  if (!read) return std::optional<Position>{};
  const BlockHeader& header = *read;
  if (header.previous_chunk == 0) return std::optional<Position>(block);
  if (header.next_chunk <= at - block) {
    const Position end = block + header.next_chunk;
    if (!is_chunk_boundary(end)) return std::optional<Position>{};
    // If no chunk begins there, one may begin earlier.
    ASSIGN_OR_RETURN(const auto goes_on, framing.is_sound_or_end(context, {end, 0}));
    if (goes_on) return std::optional(end);
  }
  if (header.previous_chunk > block) return std::optional<Position>{};
  const Position begin = block - header.previous_chunk;
  ASSIGN_OR_RETURN(const auto sound, is_chunk_boundary(begin)
                                         ? framing.is_chunk(context, begin, block + header.next_chunk)
                                         : Result<bool>(false));
  return sound ? std::optional(begin) : std::nullopt;
}

// Skips chunks that end at `at` or before, from the chunk boundary `start` on. Stops where a scan would need more than
// valid headers that are completely in the part: at a block header, at damage, or at the limits.
Position skip_chunks(const LoadedPart& part, const Limits& limits, Position start, Position at) {
  const auto header_at = [&part](Position begin) {
    const bool is_whole = begin % kBlockSize != 0 && begin % kBlockSize + kChunkHeaderSize <= kBlockSize;
    const Bytes bytes = is_whole ? part.range(begin, kChunkHeaderSize) : Bytes{};
    return bytes.empty() ? std::nullopt : parse_chunk_header(bytes);
  };
  for (auto header = header_at(start); header && header->num_records <= limits.records_per_chunk;) {
    const Position end = chunk_end(start, *header);
    if (end > at || end / kBlockSize != start / kBlockSize) break;
    header = header_at(end);
    if (header) start = end;
  }
  return start;
}

// Scans from a chunk boundary to the chunk that covers `at`.
Result<std::optional<ChunkInfo>> walk_to(const RequestContext& context, const Framing& framing, Place start,
                                         Position at) {
  std::optional<ChunkKey> key = ChunkKey{start.begin, start.phase};
  for (int i = 0; i < kMostSteps && key && key->position <= at && !Framing::has_searched_long(*key); ++i) {
    ASSIGN_OR_RETURN(const auto step, framing.scan(context, *key));
    if (step.chunk && step.chunk->end > at) return step.chunk;
    key = step.next;
  }
  return std::optional<ChunkInfo>{};
}

}  // namespace

Result<std::optional<ChunkInfo>> find_chunk(const RequestContext& context, const Source& source, const Limits& limits,
                                            Position at) {
  Limits narrow = limits;
  narrow.scan_bytes = std::min(narrow.scan_bytes, Framing::kLocateScanBytes);
  Position block = at / kBlockSize * kBlockSize;
  auto bytes = source.view_at(context, block, at - block + kReadAfter);
  // A bad sector that is not in a header does not prevent reading the headers one by one.
  if (!bytes && bytes.error().code != Code::kIo) return std::move(bytes).error();
  const LoadedPart part{block, bytes ? std::move(*bytes) : Slice{}};
  const PartlyLoadedFile seen(source, part);
  const Framing framing(seen, narrow);
  for (int i = 0; i < kBlocksTried; ++i) {
    ASSIGN_OR_RETURN(const auto start, walk_start(context, framing, block, at));
    if (start) return walk_to(context, framing, {skip_chunks(part, narrow, *start, at), 0}, at);
    if (block == 0) break;
    block -= kBlockSize;
  }
  ASSIGN_OR_RETURN(const auto shifted, framing.chunk_in_shifted_blocks(context, at - std::min(at, kLookedBack), at));
  return shifted ? walk_to(context, framing, *shifted, at) : std::optional<ChunkInfo>{};
}

}  // namespace recordfs::riegeli
