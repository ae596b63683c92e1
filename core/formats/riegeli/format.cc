#include "core/formats/riegeli/format.h"

#include <algorithm>
#include <array>

#include "core/formats/riegeli/container.h"
#include "core/formats/riegeli/framing.h"

namespace recordfs::riegeli {
namespace {

// Bits of evidence for the format: a complete signature; one half of it, or a block header with a valid hash and
// pointer.
constexpr int kWholeSignature = 200;
constexpr int kOneHash = 60;
constexpr std::size_t kShortestPrefix = 8;
// How far to search for a valid block header.
constexpr Position kSearched = 4 << 20;

Result<int> bid_on_head(const Source& source) {
  const Bytes signature = file_signature();
  std::array<std::byte, 64> bytes{};
  ASSIGN_OR_RETURN(const auto got, source.read_at(0, bytes));
  const Bytes head = Bytes(bytes).first(got);
  if (got >= kShortestPrefix && std::ranges::equal(head, signature.first(got))) {
    return got == signature.size() ? kWholeSignature : static_cast<int>(8 * std::min<std::size_t>(got, 24));
  }
  if (got < signature.size()) return 0;
  const bool sound = parse_block_header(head.first(kBlockHeaderSize)) ||
                     parse_chunk_header(head.subspan(kBlockHeaderSize, kChunkHeaderSize));
  return sound ? kOneHash : 0;
}

// Returns whether the chunk that a block header names, or the next one, has a valid header.
Result<bool> leads_to_chunk(const Framing& framing, Position size, Position block, const BlockHeader& header) {
  if (header.next_chunk > size - block) return true;
  const Position end = block + header.next_chunk;
  if (end == size) return true;
  if (header.previous_chunk <= block) {
    auto sound = framing.is_chunk(block - header.previous_chunk, end);
    if (!sound || *sound) return sound;
  }
  ASSIGN_OR_RETURN(const auto after, framing.scan({end, 0}));
  return after.chunk.has_value();
}

Result<int> bid_on_blocks(const Source& source, const Limits& limits) {
  const Framing framing(source, limits);
  const Position searched = std::min({source.size(), kSearched, limits.scan_bytes});
  for (Position block = kBlockSize; block < searched; block += kBlockSize) {
    ASSIGN_OR_RETURN(const auto header, framing.block_header(block));
    if (!header) continue;
    ASSIGN_OR_RETURN(const auto sound, leads_to_chunk(framing, source.size(), block, *header));
    if (sound) return kOneHash;
  }
  return 0;
}

// Bids on a file whose beginning was cut off, if a scan without a signature finds a chunk.
Result<int> bid_on_chunks(const Source& source) {
  Limits limits;
  limits.scan_bytes = 0;
  const Framing framing(source, limits);
  std::optional<ChunkKey> key = ChunkKey{};
  do {
    ASSIGN_OR_RETURN(const auto step, framing.scan(*key));
    if (step.chunk) return kOneHash;
    key = step.next;
  } while (key && Framing::is_searching(*key) && Framing::searched(*key) < kSearched);
  if (!key || Framing::is_searching(*key)) return 0;
  ASSIGN_OR_RETURN(const auto found, framing.scan(*key));
  return found.chunk ? kOneHash : 0;
}

Result<int> bid_on_file(const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return file_name.ends_with(".riegeli") ? 1 : 0;
  auto bid = bid_on_head(source);
  if (!bid || *bid > 0 || depth == ProbeDepth::kHead) return bid;
  bid = bid_on_blocks(source, Limits{});
  if (!bid || *bid > 0) return bid;
  return bid_on_chunks(source);
}

Result<std::unique_ptr<Container>> open_file(std::shared_ptr<const Source> source, const Limits& limits) {
  if (source->size() > 0) {
    ASSIGN_OR_RETURN(const auto bid, bid_on_file(*source, {}, ProbeDepth::kSearch));
    if (bid == 0) return Error{.code = Code::kNoContainer, .detail = "not a Riegeli/records file"};
  }
  return RiegeliContainer::open(std::move(source), limits);
}

}  // namespace

const Format kFormat = {"riegeli", bid_on_file, open_file};

}  // namespace recordfs::riegeli
