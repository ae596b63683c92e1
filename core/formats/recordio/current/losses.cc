#include "core/formats/recordio/current/losses.h"

#include "core/formats/recordio/current/stored.h"

namespace recordfs::recordio {
namespace {

std::string_view reason_of(Loss loss) {
  switch (loss) {
    case Loss::kNone:
    case Loss::kNoHeader: return "no recordio chunk where one should begin";
    case Loss::kChecksum: return "the checksum of a chunk does not match";
    case Loss::kHeadless: return "the first chunk of a block is missing";
    case Loss::kUnfinished: return "the file ends inside a chunk";
  }
  return "no recordio chunk where one should begin";
}

}  // namespace

Result<Loss> loss_at(Window& window, Position at) {
  ASSIGN_OR_RETURN(const auto bytes, window.view(at, kFrameSize));
  const auto header = parse_frame_header(bytes);
  if (!header) {
    const bool is_cut = bytes.size() < kFrameHeaderSize && is_cut_header(bytes);
    return is_cut ? Loss::kUnfinished : Loss::kNoHeader;
  }
  if (header->used() > bytes.size()) return Loss::kUnfinished;
  return checksum_matches(*header, bytes) ? Loss::kHeadless : Loss::kChecksum;
}

DamagedRegion lost_region(Position begin, Position end, Loss loss) {
  DamagedRegion region{
      .begin = begin, .end = end, .records_lost = std::nullopt, .reason = std::string(reason_of(loss))};
  if (loss == Loss::kUnfinished) region.damage_class = DamageClass::kUnfinished;
  return region;
}

Result<std::vector<DamagedRegion>> broken_frames(const Source& source, const ChunkInfo& chunk) {
  std::vector<DamagedRegion> regions;
  const auto see = [&](std::uint64_t index, const Result<Bytes>& fragment) -> Result<void> {
    if (fragment) return {};
    const Position begin = chunk.begin + index * kFrameSize;
    const Position end = std::min(begin + kFrameSize, chunk.end);
    regions.push_back({.begin = begin, .end = end, .records_lost = 0, .reason = fragment.error().detail});
    return {};
  };
  TRY(each_fragment(source, chunk, 0, frames_of(chunk).there, see));
  return regions;
}

}  // namespace recordfs::recordio
