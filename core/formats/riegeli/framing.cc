#include "core/formats/riegeli/framing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/cursor.h"
#include "core/base/result.h"
#include "core/base/source.h"
#include "core/formats/riegeli/search.h"
#include "core/formats/riegeli/stored.h"
#include "core/formats/riegeli/unit.h"
#include "core/formats/riegeli/wire.h"

namespace recordfs::riegeli {
namespace {

// A chunk header, the block header that may interrupt it, and the first byte of data.
constexpr std::size_t kOpeningBytes = kBlockHeaderSize + kChunkHeaderSize + 1;
// The state of a search in ChunkKey::state: the phase, the number of the block where the search continues, and whether
// a foreign file signature was found.
constexpr std::uint64_t kForeign = std::uint64_t{1} << 63;
// The largest chunk that is searched for other chunks if its data does not match its header.
constexpr std::uint64_t kMostInside = 4 << 20;

constexpr std::string_view kNoSignature = "the file does not begin with its signature";
constexpr std::string_view kBadChunkHeader = "the hash of a chunk header does not match";
constexpr std::string_view kBadBlockHeader = "the hash of a block header inside a chunk does not match";
constexpr std::string_view kForeignBlock = "a block header belongs to another chunk than the one it interrupts";
constexpr std::string_view kTooManyRecords = "a chunk header declares more records than the limit";
constexpr std::string_view kUnfinished = "the file ends inside a chunk";
constexpr std::string_view kOtherPhase = "bytes were deleted or inserted: blocks are shifted from here on";
constexpr std::string_view kJoined = "another Riegeli file was appended here, not at a multiple of 64 KiB";

Step damaged_step(DamagedRegion damage, Position size) {
  Step step;
  if (damage.end < size) step.next = ChunkKey{damage.end, 0};
  step.damage.push_back(std::move(damage));
  return step;
}

// Returns a step that continues the search.
Step still_searching(const Search& search) {
  const std::uint64_t foreign = search.is_foreign ? kForeign : 0;
  return Step{{}, {}, ChunkKey{search.damaged, search.phase | search.from / kBlockSize * kBlockSize | foreign}};
}

Phase phase_in(std::uint64_t state) { return state % kBlockSize; }

bool is_record_type(ChunkType type) { return type == ChunkType::kSimple || type == ChunkType::kTransposed; }

}  // namespace

Result<Framing::Opening> Framing::read_opening(const RequestContext& context, Place place) const {
  const Position begin = place.begin;
  std::array<std::byte, kOpeningBytes> bytes{};
  ASSIGN_OR_RETURN(const auto got, source_.read_at(context, begin, bytes));
  std::size_t there = got;
  // Remove the block header, so that the chunk header and the data are contiguous.
  const Position block = block_at_or_after(begin, place.phase);
  const std::uint64_t to_block = block - begin;
  if (to_block < there && to_block <= kChunkHeaderSize) {
    const std::uint64_t after = std::min<std::uint64_t>(to_block + kBlockHeaderSize, there);
    std::ranges::copy(Bytes(bytes).first(there).subspan(after), bytes.begin() + static_cast<std::ptrdiff_t>(to_block));
    there -= after - to_block;
  }
  Opening opening;
  Cursor cursor(Bytes(bytes).first(there));
  const Bytes header = cursor.take(kChunkHeaderSize);
  opening.whole = cursor.ok();
  if (!opening.whole) return opening;
  opening.header = parse_chunk_header(header);
  if (!opening.header || cursor.at_end()) return opening;
  if (opening.header->data_size == 0) return opening;
  const auto codec = codec_of(cursor.u8());
  if (codec) opening.codec = to_string(*codec);
  return opening;
}

ChunkInfo Framing::describe(Place place, const ChunkHeader& header, std::string_view codec, const Limits& limits) {
  const bool has_records = is_record_type(header.type) || header.num_records > 0;
  ChunkInfo info;
  info.key = {place.begin, place.phase};
  info.begin = place.begin;
  info.end = chunk_end(place.begin, header, place.phase);
  info.kind = kind_of(header.type);
  info.codec = is_record_type(header.type) || header.type == ChunkType::kMetadata ? codec : "-";
  info.records = header.num_records;
  info.decoded_size = 0;
  if (has_records) info.decoded_size = header.decoded_data_size;
  if (!could_be_read(*info.decoded_size, header.data_size, limits)) info.decoded_size.reset();
  info.decoded_beside = header.type == ChunkType::kMetadata && !has_records ? header.decoded_data_size : 0;
  info.stored_size = header.data_size;
  info.layout_cost = header.type == ChunkType::kTransposed ? LayoutCost::kDecode : LayoutCost::kSmall;
  info.detail = {header.data_hash, header.decoded_data_size};
  return info;
}

Result<std::optional<ChunkInfo>> Framing::declared(const RequestContext& context, Position begin) const {
  ASSIGN_OR_RETURN(const auto opening, read_opening(context, {begin, 0}));
  if (!opening.header) return std::optional<ChunkInfo>{};
  return std::optional(describe({begin, 0}, *opening.header, opening.codec, limits_));
}

Result<std::optional<BlockHeader>> Framing::block_header(const RequestContext& context, Position block) const {
  std::array<std::byte, kBlockHeaderSize> bytes{};
  ASSIGN_OR_RETURN(const auto got, source_.read_at(context, block, bytes));
  if (got < bytes.size()) return std::optional<BlockHeader>{};
  return parse_block_header(bytes);
}

Result<bool> Framing::is_chunk(const RequestContext& context, Position begin, Position end, Phase phase) const {
  ASSIGN_OR_RETURN(const auto opening, read_opening(context, {begin, phase}));
  return opening.header && chunk_end(begin, *opening.header, phase) == end;
}

Result<bool> Framing::is_sound_or_end(const RequestContext& context, Place place) const {
  if (place.begin >= source_.size()) return true;
  ASSIGN_OR_RETURN(const auto opening, read_opening(context, place));
  return opening.header.has_value();
}

Result<std::optional<Place>> Framing::chunk_in_shifted_blocks(const RequestContext& context, Position from,
                                                              Position at) const {
  ASSIGN_OR_RETURN(const auto bytes, read_up_to(context, source_, from, at - from + kBlockSize));
  const Bytes seen = bytes.view();
  for (std::size_t i = 0; i + kBlockHeaderSize <= seen.size(); ++i) {
    if (!may_be_block_header(seen.subspan(i))) continue;
    const auto header = parse_block_header(seen.subspan(i, kBlockHeaderSize));
    const Position block = from + i;
    if (!header || header->previous_chunk > block || block - header->previous_chunk > at) continue;
    const Place place{block - header->previous_chunk, block % kBlockSize};
    const bool may_be = is_chunk_boundary(place.begin, place.phase) &&
                        header->next_chunk <= std::numeric_limits<Position>::max() - block;
    ASSIGN_OR_RETURN(const auto sound,
                     may_be ? is_chunk(context, place.begin, block + header->next_chunk, place.phase) : false);
    if (sound) return std::optional(place);
  }
  return std::optional<Place>{};
}

Result<Framing::BlockCheck> Framing::check_blocks(const RequestContext& context, Place place, Position content,
                                                  Position end) const {
  const Position begin = place.begin;
  BlockCheck check;
  // A chunk beyond the limits is refused whatever its block headers contain.
  const Position checked = begin + std::min(std::min(content, source_.size()) - begin, limits_.stored_chunk);
  const bool cut = end > source_.size();
  Position least = begin;
  for (Position block = block_at_or_after(begin, place.phase); block < checked; block += kBlockSize) {
    if (source_.size() - block < kBlockHeaderSize) break;
    ASSIGN_OR_RETURN(const auto header, block_header(context, block));
    if (!header && !cut) {
      check.broken.push_back(damaged_region(block, block + kBlockHeaderSize, kBadBlockHeader));
      check.broken.back().records_lost = 0;
    } else if (!header) {
      check.contradiction = LostChunk{kBadBlockHeader, block + kBlockHeaderSize, least};
      return check;
    } else if (header->previous_chunk != block - begin) {
      const bool short_reach = header->next_chunk <= kBlockSize;
      check.contradiction = LostChunk{kForeignBlock, short_reach ? block : block + kBlockHeaderSize, least};
      return check;
    } else if (header->next_chunk != end - block) {
      check.contradiction = LostChunk{kForeignBlock, block + kBlockHeaderSize, least};
      return check;
    } else {
      least = block + kBlockHeaderSize;
    }
  }
  return check;
}

Result<Examined> Framing::examine(const RequestContext& context, Place place) const {
  const Position begin = place.begin;
  ASSIGN_OR_RETURN(const auto opening, read_opening(context, place));
  if (!opening.whole) return Examined(CutChunk{});
  const bool is_first = begin == 0 && place.phase == 0;
  if (!opening.header) return Examined(LostChunk{is_first ? kNoSignature : kBadChunkHeader, begin, begin});
  const ChunkHeader& header = *opening.header;
  if (is_first && (header.type != ChunkType::kSignature || !keeps_type_rules(header))) {
    return Examined(LostChunk{kNoSignature, begin, begin});
  }
  const Position end = chunk_end(begin, header, place.phase);
  ASSIGN_OR_RETURN(auto check, check_blocks(context, place, content_end(begin, header, place.phase), end));
  if (check.contradiction) return Examined(*check.contradiction);
  if (end > source_.size()) return Examined(CutChunk{true});
  if (header.num_records > limits_.records_per_chunk) return Examined(RefusedChunk{end, kTooManyRecords});
  return Examined(SoundChunk{describe(place, header, opening.codec, limits_), std::move(check.broken)});
}

Result<std::optional<Step>> Framing::go_on(const RequestContext& context, Place damaged, Place found,
                                           std::string_view reason) const {
  const Position size = source_.size();
  const Position begin = std::min(found.begin, size);
  if (begin > damaged.begin) {
    Step step = damaged_step(damaged_region(damaged.begin, begin, reason), size);
    if (step.next) step.next->state = found.phase;
    return std::optional(std::move(step));
  }
  // No bytes lie in between, but the phase does not match.
  ASSIGN_OR_RETURN(auto examined, examine(context, found));
  auto* sound = std::get_if<SoundChunk>(&examined);
  if (sound == nullptr) return std::optional<Step>{};
  DamagedRegion shift = damaged_region(begin, begin + 1, kOtherPhase);
  // No valid chunk before this place is incomplete, and a whole file begins here.
  if (sound->info.kind.as<ChunkType>() == ChunkType::kSignature && found.phase == begin % kBlockSize) {
    shift = damaged_region(begin, sound->info.end, kJoined, DamageClass::kStale);
    shift.records_lost = 0;
  }
  sound->broken_block_headers.insert(sound->broken_block_headers.begin(), std::move(shift));
  ASSIGN_OR_RETURN(auto step, step_over(context, std::move(*sound)));
  return std::optional(std::move(step));
}

Position Framing::searched(const ChunkKey& key) { return (key.state & ~kForeign) / kBlockSize * kBlockSize; }

Result<Step> Framing::search(const RequestContext& context, Place damaged, const LostChunk& lost,
                             std::uint64_t state) const {
  const Position size = source_.size();
  Search search{.damaged = damaged.begin,
                .phase = damaged.phase,
                .least = lost.least,
                .headers_from = lost.search_from,
                .from = std::max(searched({damaged.begin, state}), lost.least),
                .is_foreign = (state & kForeign) != 0};
  for (const Position first = search.from; search.from < size;) {
    if (search.from > first && search.from - first > limits_.scan_bytes) return still_searching(search);
    ASSIGN_OR_RETURN(const auto found, advance(context, source_, *this, search, size));
    if (!found) continue;
    ASSIGN_OR_RETURN(auto step, go_on(context, damaged, *found, lost.reason));
    if (step) return *std::move(step);
    search.least = search.from = damaged.begin + 1;
  }
  return damaged_step(damaged_region(damaged.begin, size, lost.reason), size);
}

Result<std::optional<Place>> Framing::search_inside(const RequestContext& context, Place outer, Position least,
                                                    Position end) const {
  Search search{.damaged = outer.begin,
                .phase = outer.phase,
                .least = least,
                .headers_from = std::numeric_limits<Position>::max(),
                .from = least,
                .is_foreign = false};
  while (search.from < end) {
    ASSIGN_OR_RETURN(auto found, advance(context, source_, *this, search, end));
    if (found && found->begin < end) return found;
    if (found) break;
  }
  return std::optional<Place>{};
}

// A chunk may end at another one inside it only if its data does not match its hash. That is not verified, and not
// assumed, if little of it would remain: a file could have such chunks every few bytes, and each would be hashed.
Result<bool> Framing::may_end_at(const RequestContext& context, const ChunkInfo& chunk, Position end) const {
  constexpr std::uint64_t kMostHashed = 1024;  // bytes for each byte that remains
  if (end != chunk.begin && chunk.stored_size / kMostHashed > end - chunk.begin) return false;
  const auto data = verify_data(context, source_, chunk);
  if (data) return false;
  if (!is_permanent(data.error().code)) return data.error();
  return true;
}

// If the data does not match its hash, blocks may have shifted; "broken block headers" are then ordinary data. If also
// no chunk begins at the end of this one, bytes may have been deleted from it. The next chunk then begins before that
// end.
Result<Step> Framing::step_over(const RequestContext& context, SoundChunk sound) const {
  const Position size = source_.size();
  ChunkInfo& info = sound.info;
  const Place place{info.begin, phase_of(info)};
  Step step;
  if (info.end < size) step.next = ChunkKey{info.end, place.phase};
  ASSIGN_OR_RETURN(const auto goes_on, is_sound_or_end(context, {info.end, place.phase}));
  const bool is_doubtful = !goes_on || !sound.broken_block_headers.empty();
  if (is_doubtful && info.stored_size <= kMostInside) {
    Position least = info.begin;
    for (Position block = block_at_or_after(least + 1, place.phase); block < info.end; block += kBlockSize) {
      const bool is_broken = std::ranges::find(sound.broken_block_headers, block, &DamagedRegion::begin) !=
                             sound.broken_block_headers.end();
      if (!is_broken) least = block + kBlockHeaderSize;
    }
    ASSIGN_OR_RETURN(auto next, search_inside(context, place, least, goes_on ? info.begin + 1 : info.end));
    if (next) {
      ASSIGN_OR_RETURN(const auto is_shorter, may_end_at(context, info, next->begin));
      if (!is_shorter) next.reset();
    }
    if (next && next->begin == info.begin) {
      ASSIGN_OR_RETURN(auto other, go_on(context, place, *next, kOtherPhase));
      if (other) return *std::move(other);
    } else if (next) {
      info.end = next->begin;
      info.stored_size = std::min(info.stored_size, info.end - info.begin);
      std::erase_if(sound.broken_block_headers, [&](const DamagedRegion& broken) { return broken.end > info.end; });
      step.next = ChunkKey{info.end, next->phase};
    }
  }
  step.chunk = info;
  step.damage = std::move(sound.broken_block_headers);
  return step;
}

Result<Step> Framing::step_over_cut(const RequestContext& context, Place place, bool has_header) const {
  const Position size = source_.size();
  if (has_header && size - place.begin <= kMostInside) {
    ASSIGN_OR_RETURN(const auto next, search_inside(context, place, place.begin + 1, size));
    ASSIGN_OR_RETURN(auto step, next ? go_on(context, place, *next, kUnfinished) : std::optional<Step>{});
    if (step) return *std::move(step);
  }
  DamagedRegion cut = damaged_region(place.begin, size, kUnfinished);
  cut.damage_class = DamageClass::kUnfinished;
  return damaged_step(std::move(cut), size);
}

Result<Step> Framing::scan(const RequestContext& context, ChunkKey at) const {
  const Position size = source_.size();
  if (at.position >= size) return Step{};
  const Place place{at.position, phase_in(at.state)};
  ASSIGN_OR_RETURN(auto examined, examine(context, place));
  if (const auto* lost = std::get_if<LostChunk>(&examined)) return search(context, place, *lost, at.state);
  if (const auto* cut = std::get_if<CutChunk>(&examined)) return step_over_cut(context, place, cut->has_header);
  if (const auto* refused = std::get_if<RefusedChunk>(&examined)) {
    Step step = damaged_step(damaged_region(at.position, refused->end, refused->reason), size);
    if (step.next) step.next->state = place.phase;
    return step;
  }
  return step_over(context, std::get<SoundChunk>(std::move(examined)));
}

}  // namespace recordfs::riegeli
