#include "core/formats/riegeli/framing.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/cursor.h"
#include "core/formats/riegeli/unit.h"

namespace recordfs::riegeli {
namespace {

// A chunk header, the block header that may interrupt it, and the first byte of data.
constexpr std::size_t kOpeningBytes = kBlockHeaderSize + kChunkHeaderSize + 1;
// A block header alone costs the page that it stands on.
constexpr std::uint64_t kBlockHeaderCost = 4096;

constexpr std::string_view kNoSignature = "the file does not begin with its signature";
constexpr std::string_view kBadChunkHeader = "the hash of a chunk header does not match";
constexpr std::string_view kBadBlockHeader = "the hash of a block header inside a chunk does not match";
constexpr std::string_view kForeignBlock = "a block header belongs to another chunk than the one it interrupts";
constexpr std::string_view kTooManyRecords = "a chunk header declares more records than the limit";
constexpr std::string_view kUnfinished = "the file ends inside a chunk";

DamagedRegion region(Position begin, Position end, std::string_view reason) {
  return {.begin = begin, .end = end, .records_lost = std::nullopt, .reason = std::string(reason)};
}

Step damaged_step(DamagedRegion damage, Position size) {
  Step step;
  if (damage.end < size) step.next = ChunkKey{damage.end, 0};
  step.damage.push_back(std::move(damage));
  return step;
}

// The search that began at `damaged` goes on at `block`.
Step still_searching(Position damaged, Position block) {
  Step step;
  step.next = ChunkKey{damaged, block / kBlockSize};
  return step;
}

bool is_record_type(ChunkType type) { return type == ChunkType::kSimple || type == ChunkType::kTransposed; }

}  // namespace

Result<Framing::Opening> Framing::read_opening(Position begin) const {
  std::array<std::byte, kOpeningBytes> bytes{};
  auto got = source_.read_at(begin, bytes);
  if (!got) return std::move(got).error();
  std::size_t there = *got;
  // Closes the gap where a block header stands, so that the chunk header and what follows are one run.
  const Position block = block_at_or_behind(begin);
  const std::uint64_t to_block = block - begin;
  if (to_block < there && to_block <= kChunkHeaderSize) {
    const std::uint64_t behind = std::min<std::uint64_t>(to_block + kBlockHeaderSize, there);
    std::ranges::copy(Bytes(bytes).first(there).subspan(behind), bytes.begin() + static_cast<std::ptrdiff_t>(to_block));
    there -= behind - to_block;
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

ChunkInfo Framing::describe(Position begin, const ChunkHeader& header, std::string_view codec) {
  const bool has_records = is_record_type(header.type) || header.num_records > 0;
  ChunkInfo info;
  info.key = {begin, 0};
  info.begin = begin;
  info.end = chunk_end(begin, header);
  info.kind = kind_of(header.type);
  info.codec = is_record_type(header.type) || header.type == ChunkType::kMetadata ? codec : "-";
  info.records = header.num_records;
  info.decoded_size = has_records ? header.decoded_data_size : 0;
  info.decoded_beside = header.type == ChunkType::kMetadata && !has_records ? header.decoded_data_size : 0;
  info.stored_size = header.data_size;
  info.layout_cost = header.type == ChunkType::kTransposed ? LayoutCost::kDecode : LayoutCost::kSmall;
  info.detail = {header.data_hash, header.decoded_data_size};
  return info;
}

Result<std::optional<ChunkInfo>> Framing::declared(Position begin) const {
  auto opening = read_opening(begin);
  if (!opening) return std::move(opening).error();
  if (!opening->header) return std::optional<ChunkInfo>{};
  return std::optional(describe(begin, *opening->header, opening->codec));
}

Result<std::optional<BlockHeader>> Framing::block_header(Position block) const {
  std::array<std::byte, kBlockHeaderSize> bytes{};
  auto got = source_.read_at(block, bytes);
  if (!got) return std::move(got).error();
  if (*got < bytes.size()) return std::optional<BlockHeader>{};
  return parse_block_header(bytes);
}

Result<bool> Framing::is_chunk(Position begin, Position end) const {
  auto opening = read_opening(begin);
  if (!opening) return std::move(opening).error();
  return opening->header && chunk_end(begin, *opening->header) == end;
}

Result<Framing::BlockCheck> Framing::check_blocks(Position begin, Position content, Position end) const {
  BlockCheck check;
  // Behind the limits a chunk is refused whatever its block headers say.
  const Position checked = begin + std::min(std::min(content, source_.size()) - begin, limits_.stored_chunk);
  const bool cut = end > source_.size();
  for (Position block = block_at_or_behind(begin); block < checked; block += kBlockSize) {
    if (source_.size() - block < kBlockHeaderSize) break;
    auto header = block_header(block);
    if (!header) return std::move(header).error();
    if (!*header && !cut) {
      check.broken.push_back(region(block, block + kBlockHeaderSize, kBadBlockHeader));
      check.broken.back().records_lost = 0;
    } else if (!*header) {
      check.contradiction = LostChunk{kBadBlockHeader, block + kBlockHeaderSize};
      return check;
    } else if ((*header)->previous_chunk != block - begin) {
      const bool short_reach = (*header)->next_chunk <= kBlockSize;
      check.contradiction = LostChunk{kForeignBlock, short_reach ? block : block + kBlockHeaderSize};
      return check;
    } else if ((*header)->next_chunk != end - block) {
      check.contradiction = LostChunk{kForeignBlock, block + kBlockHeaderSize};
      return check;
    }
  }
  return check;
}

Result<Examined> Framing::examine(Position begin) const {
  auto opening = read_opening(begin);
  if (!opening) return std::move(opening).error();
  if (!opening->whole) return Examined(CutChunk{});
  if (!opening->header) return Examined(LostChunk{begin == 0 ? kNoSignature : kBadChunkHeader, begin});
  const ChunkHeader& header = *opening->header;
  if (begin == 0 && (header.type != ChunkType::kSignature || !keeps_type_rules(header))) {
    return Examined(LostChunk{kNoSignature, begin});
  }
  const Position end = chunk_end(begin, header);
  auto check = check_blocks(begin, content_end(begin, header), end);
  if (!check) return std::move(check).error();
  if (check->contradiction) return Examined(*check->contradiction);
  if (end > source_.size()) return Examined(CutChunk{});
  if (header.num_records > limits_.records_per_chunk) return Examined(RefusedChunk{end, kTooManyRecords});
  return Examined(SoundChunk{describe(begin, header, opening->codec), std::move(check->broken)});
}

Result<std::optional<Position>> Framing::resume_position(Position damaged, Position block,
                                                         const BlockHeader& header) const {
  if (header.previous_chunk == 0 && block > damaged) return std::optional(block);
  if (header.next_chunk > std::numeric_limits<Position>::max() - block) return std::optional(source_.size());
  const Position end = block + header.next_chunk;
  if (header.previous_chunk < block && block - header.previous_chunk > damaged) {
    const Position begin = block - header.previous_chunk;
    auto sound = is_chunk_boundary(begin) ? is_chunk(begin, end) : Result<bool>(false);
    if (!sound) return std::move(sound).error();
    if (*sound) return std::optional(begin);
  }
  return is_chunk_boundary(end) ? std::optional(end) : std::nullopt;
}

Result<Step> Framing::search(Position damaged, std::string_view reason, Position from) const {
  const Position size = source_.size();
  std::uint64_t spent = 0;
  for (Position block = block_at_or_behind(from); block < size; block += kBlockSize) {
    if (size - block < kBlockHeaderSize && block > damaged) return damaged_step(region(damaged, block, reason), size);
    if (spent > limits_.scan_bytes) return still_searching(damaged, block);
    auto header = block_header(block);
    if (!header) return std::move(header).error();
    spent += kBlockHeaderCost;
    if (!*header) continue;
    auto position = resume_position(damaged, block, **header);
    if (!position) return std::move(position).error();
    if (*position) return damaged_step(region(damaged, std::min(**position, size), reason), size);
  }
  return damaged_step(region(damaged, size, reason), size);
}

Result<Step> Framing::scan(ChunkKey at) const {
  const Position size = source_.size();
  if (at.position >= size) return Step{};
  auto examined = examine(at.position);
  if (!examined) return std::move(examined).error();
  if (const auto* lost = std::get_if<LostChunk>(&*examined)) {
    return search(at.position, lost->reason, at.state == 0 ? lost->search_from : at.state * kBlockSize);
  }
  if (std::holds_alternative<CutChunk>(*examined)) {
    DamagedRegion cut = region(at.position, size, kUnfinished);
    cut.damage_class = DamageClass::kUnfinished;
    return damaged_step(std::move(cut), size);
  }
  if (const auto* refused = std::get_if<RefusedChunk>(&*examined)) {
    return damaged_step(region(at.position, refused->end, refused->reason), size);
  }
  auto& sound = std::get<SoundChunk>(*examined);
  Step step;
  if (sound.info.end < size) step.next = ChunkKey{sound.info.end, 0};
  step.chunk = sound.info;
  step.damage = std::move(sound.broken_block_headers);
  return step;
}

}  // namespace recordfs::riegeli
