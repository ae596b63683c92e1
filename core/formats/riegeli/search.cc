#include "core/formats/riegeli/search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/buffer.h"
#include "core/formats/riegeli/stored.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli {
namespace {

// The most data to verify of a chunk whose only evidence is its header. Larger chunks contain a block header as further
// evidence.
constexpr std::uint64_t kMostVerified = 2 * kBlockSize;
// The most bytes to verify for false chunk headers within one block, because a file can be made to contain thousands.
constexpr std::uint64_t kMostSpent = 8 * kBlockSize;
// The highest byte of the first number after the hash, in both headers.
constexpr std::size_t kHighestByte = 15;
constexpr std::uint64_t kSignatureSize = kBlockHeaderSize + kChunkHeaderSize;

// Returns the phase in which the next block header is as far after `begin` as possible.
Phase phase_without_headers(Position begin) { return (begin + kBlockSize - kBlockHeaderSize - 1) % kBlockSize; }
constexpr std::uint64_t kMostWithoutHeaders = kBlockSize - kBlockHeaderSize - 1;

// Returns how many bytes of a chunk to search for a block header.
std::uint64_t looked_through(const ChunkHeader& header) {
  return std::min(kChunkHeaderSize + header.data_size, kBlockSize) + kBlockHeaderSize;
}

// Const, thread-safe, no cache.
class Resync {
 public:
  // REQUIRES: `source` and `framing` outlive the object.
  Resync(const Source& source, const Framing& framing) : source_(source), framing_(framing) {}

  // As the function advance().
  Result<std::optional<Place>> advance(const RequestContext& context, Search& search, Position until) const {
    ASSIGN_OR_RETURN(const auto after, data_after_hole_at(context, search.from));
    if (after > search.from) {
      search.from = std::min(after, until);
      return std::optional<Place>{};
    }
    const Position end = std::min(until, (search.from / kBlockSize + 1) * kBlockSize);
    std::optional<Evidence> evidence;
    for (Position block = block_at_or_after(search.from, search.phase); block < end && !evidence; block += kBlockSize) {
      if (block < search.headers_from) continue;
      ASSIGN_OR_RETURN(const auto header, evidence_of(context, search, block));
      evidence = header;
    }
    auto found = search_bytes(context, search, evidence ? std::min(evidence->fence, end) : end);
    if (!found || *found) return found;
    if (evidence) return std::optional(Place{evidence->resume, search.phase});
    search.from = end;
    return std::optional<Place>{};
  }

 private:
  // What a block header of the phase proves.
  struct Evidence {
    Position resume = 0;  // where the scan continues
    Position fence = 0;   // the end of the range that may hold chunks that the header does not describe
  };

  Result<std::optional<Evidence>> evidence_of(const RequestContext& context, const Search& search,
                                              Position block) const {
    ASSIGN_OR_RETURN(const auto read, framing_.block_header(context, block));
    if (!read) return std::optional<Evidence>{};
    const BlockHeader& header = *read;
    const Position damaged = search.damaged;
    if (header.previous_chunk == 0 && block > damaged) return std::optional(Evidence{block, block});
    if (header.next_chunk > std::numeric_limits<Position>::max() - block) {
      return std::optional(Evidence{source_.size(), search.from});
    }
    const Position end = block + header.next_chunk;
    Position fence = search.from;
    if (header.previous_chunk < block && block - header.previous_chunk > damaged) {
      fence = block - header.previous_chunk;
      ASSIGN_OR_RETURN(const auto sound, is_chunk_boundary(fence, search.phase)
                                             ? framing_.is_chunk(context, fence, end, search.phase)
                                             : false);
      if (sound) return std::optional(Evidence{fence, fence});
    }
    return is_chunk_boundary(end, search.phase) ? std::optional(Evidence{end, fence}) : std::nullopt;
  }

  Result<std::optional<Place>> search_bytes(const RequestContext& context, Search& search, Position end) const {
    if (search.from >= end) return std::optional<Place>{};
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source_, search.from, end - search.from + kSignatureSize));
    const Bytes seen = bytes.view();
    const auto count = static_cast<std::size_t>(end - search.from);
    std::uint64_t spent = 0;
    for (std::size_t i = 0; i < count && i + kBlockHeaderSize <= seen.size(); ++i) {
      if (seen[i + kHighestByte] != std::byte{0}) continue;
      const Position at = search.from + i;
      const Bytes rest = seen.subspan(i);
      if (at % kBlockSize != search.phase && may_be_block_header(rest)) {
        const auto header = parse_block_header(rest.first(kBlockHeaderSize));
        const Bytes signature = file_signature();
        const bool is_file = header && at != search.damaged && rest.size() >= signature.size() &&
                             std::ranges::equal(rest.first(signature.size()), signature);
        ASSIGN_OR_RETURN(const auto is_own, is_file ? continues_after(context, at) : true);
        search.is_foreign |= !is_own;
        auto found = header && is_own ? by_block_header(context, search, at, *header) : std::optional<Place>{};
        if (!found || *found) return found;
      }
      if (search.is_foreign || rest.size() < kChunkHeaderSize || !may_be_records_header(rest)) continue;
      const auto header = parse_chunk_header(rest.first(kChunkHeaderSize));
      auto found = header ? by_chunk_header(context, search, at, *header, spent) : std::optional<Place>{};
      if (!found || *found) return found;
    }
    return std::optional<Place>{};
  }

  Result<std::optional<Place>> by_block_header(const RequestContext& context, const Search& search, Position block,
                                               const BlockHeader& header) const {
    const Place place{block - std::min(block, header.previous_chunk), block % kBlockSize};
    if (header.previous_chunk > block || place.begin < search.least) return std::optional<Place>{};
    if (header.next_chunk > std::numeric_limits<Position>::max() - block) return std::optional<Place>{};
    if (!is_chunk_boundary(place.begin, place.phase)) return std::optional<Place>{};
    ASSIGN_OR_RETURN(const auto sound, framing_.is_chunk(context, place.begin, block + header.next_chunk, place.phase));
    if (!sound) return std::optional<Place>{};
    ASSIGN_OR_RETURN(const auto inside, is_inside_of_sound_block(context, search, block));
    return inside ? std::optional<Place>{} : std::optional(place);
  }

  Result<std::optional<Place>> by_chunk_header(const RequestContext& context, const Search& search, Position begin,
                                               const ChunkHeader& header, std::uint64_t& spent) const {
    if (header.num_records == 0 || begin < search.least) return std::optional<Place>{};
    for (const Phase phase : {search.phase, phase_without_headers(begin)}) {
      const bool is_known = begin == search.damaged && phase == search.phase;
      const bool is_small = phase == search.phase || kChunkHeaderSize + header.data_size <= kMostWithoutHeaders;
      if (is_known || !is_small || header.data_size > kMostVerified || spent > kMostSpent) continue;
      spent += header.data_size;
      ASSIGN_OR_RETURN(const auto sound, has_sound_data(context, begin, header, phase));
      if (sound) return std::optional(Place{begin, phase});
    }
    if (spent > kMostSpent) return std::optional<Place>{};
    spent += looked_through(header);
    return by_block_inside(context, search, begin, header);
  }

  // Finds a block header of any phase that interrupts the chunk and agrees with its chunk header.
  Result<std::optional<Place>> by_block_inside(const RequestContext& context, const Search& search, Position begin,
                                               const ChunkHeader& header) const {
    ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source_, begin, looked_through(header)));
    const Bytes seen = bytes.view();
    for (std::size_t i = 1; i + kBlockHeaderSize <= seen.size(); ++i) {
      if (seen[i + kHighestByte] != std::byte{0} || !may_be_block_header(seen.subspan(i))) continue;
      const auto block = parse_block_header(seen.subspan(i, kBlockHeaderSize));
      if (!block || block->previous_chunk != i) continue;
      const Phase phase = (begin + i) % kBlockSize;
      if (begin == search.damaged && phase == search.phase) continue;
      const Position end = chunk_end(begin, header, phase);
      if (!is_chunk_boundary(begin, phase) || end < begin + i || end - (begin + i) != block->next_chunk) continue;
      ASSIGN_OR_RETURN(const auto inside,
                       phase == search.phase ? false : is_inside_of_sound_block(context, search, begin + i));
      if (!inside) return std::optional(Place{begin, phase});
    }
    return std::optional<Place>{};
  }

  Result<bool> has_sound_data(const RequestContext& context, Position begin, const ChunkHeader& header,
                              Phase phase) const {
    if (!is_chunk_boundary(begin, phase) || chunk_end(begin, header, phase) > source_.size()) return false;
    auto sound = verify_data(context, source_, Framing::describe({begin, phase}, header, "-", {}));
    if (sound) return true;
    if (is_permanent(sound.error().code)) return false;
    return std::move(sound).error();
  }

  // Returns whether a block header follows after exactly kBlockSize bytes. Inside a record, a header of the enclosing
  // file comes between two blocks, so they are further apart.
  Result<bool> continues_after(const RequestContext& context, Position block) const {
    if (source_.size() - block <= kBlockSize) return false;
    ASSIGN_OR_RETURN(const auto header, framing_.block_header(context, block + kBlockSize));
    return header.has_value();
  }

  // Returns where to continue the search if a hole begins at `from`; `from` itself if there is no hole.
  // The bytes before the data are searched too: a header that begins with zeros may begin in the hole.
  Result<Position> data_after_hole_at(const RequestContext& context, Position from) const {
    ASSIGN_OR_RETURN(const auto seen, read_up_to(context, source_, from, kBlockHeaderSize));
    ASSIGN_OR_RETURN(const auto data, data_after_hole(context, source_, from + seen.size(), seen.view()));
    const Position least = data - std::min(data, kSignatureSize);
    return std::max(from, least - least % kBlockSize);
  }

  Result<bool> is_inside_of_sound_block(const RequestContext& context, const Search& search, Position at) const {
    const Position after = block_at_or_after(at, search.phase);
    auto header = after < source_.size() ? framing_.block_header(context, after) : std::optional<BlockHeader>{};
    if (!header) return std::move(header).error();
    if (*header) return true;
    if (after < kBlockSize || after - kBlockSize < std::max(search.least, search.headers_from)) return false;
    header = framing_.block_header(context, after - kBlockSize);
    if (!header) return std::move(header).error();
    if (!*header || (*header)->next_chunk <= at - (after - kBlockSize)) return false;
    ASSIGN_OR_RETURN(const auto continues, continues_after(context, at));
    return !continues;
  }

  const Source& source_;
  const Framing& framing_;
};

}  // namespace

Result<std::optional<Place>> advance(const RequestContext& context, const Source& source, const Framing& framing,
                                     Search& search, Position until) {
  return Resync(source, framing).advance(context, search, until);
}

}  // namespace recordfs::riegeli
