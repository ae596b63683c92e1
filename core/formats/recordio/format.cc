// Detects which of the two formats a file has, if any. FORMAT.md, "Which format".
#include "core/formats/recordio/format.h"

#include <algorithm>
#include <array>

#include "core/formats/recordio/current/chunk_frames.h"
#include "core/formats/recordio/legacy/container.h"
#include "core/formats/recordio/table.h"

namespace recordfs::recordio {
namespace {

enum class Variant : std::uint8_t { kNone, kCurrent, kLegacy };

struct Detected {
  Variant variant = Variant::kNone;
  int bits = 0;  // matching bits, the strength of the evidence
};

constexpr int kSound = 96;  // magic and checksum match
constexpr int kMagicAlone = 64;
constexpr int kChecksumAlone = 32;
constexpr std::size_t kShortestPrefix = 4;
constexpr std::uint64_t kHead = 2 * kFrameSize;
constexpr std::uint64_t kPiece = 64 << 10;

bool is_sound_frame(Bytes frame) {
  const auto header = parse_frame_header(frame);
  return header && header->used() <= frame.size() && checksum_matches(*header, frame);
}

Detected by_short_file(Bytes head) {
  const int bits = static_cast<int>(8 * head.size());
  if (head.size() < kShortestPrefix) return {};
  if (is_cut_header(head)) return {Variant::kCurrent, bits};
  if (legacy::is_cut_header(head)) return {Variant::kLegacy, bits};
  return {};
}

Detected by_bytes(Bytes head) {
  if (head.size() < legacy::kRecordHeaderSize) return by_short_file(head);
  if (is_sound_frame(head)) return {Variant::kCurrent, kSound};
  if (legacy::parse_record_header(head)) return {Variant::kLegacy, kSound};
  if (head.size() > kFrameSize && is_sound_frame(head.subspan(kFrameSize))) return {Variant::kCurrent, kSound};
  const auto frame = parse_frame_header(head);
  if (frame || (is_cut_header(head) && !legacy::is_damaged_header(head))) return {Variant::kCurrent, kMagicAlone};
  if (legacy::find_magic(head.first(kMagicSize), 0) == 0) return {Variant::kLegacy, kMagicAlone};
  if (legacy::is_damaged_header(head)) return {Variant::kLegacy, kChecksumAlone};
  return {};
}

// Checks the first two frames or the first record. This and the next two fail as Source does.
Result<Detected> detect_by_head(const RequestContext& context, const Source& source) {
  ASSIGN_OR_RETURN(const auto head, read_up_to(context, source, 0, kHead));
  return by_bytes(head.view());
}

// Checks for frames of the current format at multiples of the frame size in the first `limit` bytes. This still works
// if the head is destroyed, and does not mistake a file that merely contains recordio data.
Result<Detected> detect_by_frames(const RequestContext& context, const Source& source, std::uint64_t limit) {
  for (Position at = 0; at < std::min(limit, source.size()); at += kFrameSize) {
    ASSIGN_OR_RETURN(const auto frame, read_up_to(context, source, at, kFrameSize));
    if (is_sound_frame(frame.view())) return Detected{Variant::kCurrent, kSound};
  }
  return Detected{};
}

// Searches the first `limit` bytes for a valid frame or record at any position.
Result<Detected> detect_by_search(const RequestContext& context, const Source& source, std::uint64_t limit) {
  RunLengths lengths;
  ChunkFrames frames(source, lengths);
  ASSIGN_OR_RETURN(const auto run, frames.search(context, 0, limit));
  if (run.run) return Detected{Variant::kCurrent, kSound};
  for (Position at = 0; at < std::min(limit, source.size()); at += kPiece) {
    ASSIGN_OR_RETURN(const auto piece, read_up_to(context, source, at, kPiece + legacy::kRecordHeaderSize - 1));
    const Bytes bytes = piece.view();
    for (std::size_t i = legacy::find_magic(bytes, 0); i < bytes.size(); i = legacy::find_magic(bytes, i + 1)) {
      if (legacy::parse_record_header(bytes.subspan(i))) return Detected{Variant::kLegacy, kSound};
    }
  }
  return Detected{};
}

// Names of current and legacy files. A transformer's name may follow ".grail-rpk".
bool is_recordio_name(std::string_view name) {
  return name.ends_with(".grail-rio") || name.find(".grail-rpk") != std::string_view::npos;
}

Result<int> probe(const RequestContext& context, const Source& source, std::string_view file_name, ProbeDepth depth) {
  if (source.size() == 0) return is_recordio_name(file_name) ? 1 : 0;
  auto detected = detect_by_head(context, source);
  if (detected && detected->bits == 0 && depth == ProbeDepth::kSearch) {
    const std::uint64_t limit = Limits{}.scan_bytes;
    detected = is_recordio_name(file_name) ? detect_by_search(context, source, limit)
                                           : detect_by_frames(context, source, limit);
  }
  if (!detected) return std::move(detected).error();
  return detected->bits;
}

Result<std::unique_ptr<Container>> open(const RequestContext& context, std::shared_ptr<const Source> source,
                                        const Limits& limits) {
  auto detected = detect_by_head(context, *source);
  if (detected && detected->bits == 0) detected = detect_by_search(context, *source, Limits{}.scan_bytes);
  if (!detected) return std::move(detected).error();
  if (detected->variant == Variant::kLegacy) {
    return legacy::open(std::move(source), limits);
  }
  if (detected->variant == Variant::kCurrent || source->size() == 0) {
    return open_current(context, std::move(source), limits);
  }
  return Error{Code::kNoContainer, 0, "neither a valid recordio chunk nor a valid legacy record was found"};
}

}  // namespace

const Format kFormat = {.name = "recordio",
                        .probe = probe,
                        .open = open,
                        .suffixes = ".grail-rio .grail-rpk .grail-rpk-gz",
                        .opens_from_end = true};

}  // namespace recordfs::recordio
