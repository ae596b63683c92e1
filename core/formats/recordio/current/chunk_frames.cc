#include "core/formats/recordio/current/chunk_frames.h"

#include <algorithm>
#include <array>

#include "core/base/append.h"
#include "core/base/cursor.h"
#include "core/formats/recordio/table.h"
#include "core/hash/crc32.h"

namespace recordfs::recordio {
namespace {

constexpr std::size_t kCoveredBegin = 12;  // the checksum covers all bytes from the flags on

constexpr std::array kMagics{kHeaderMagic, kPackedMagic, kTrailerMagic};

std::optional<Kind> kind_from(std::uint64_t magic) {
  switch (magic) {
    case kHeaderMagic: return Kind::kHeader;
    case kPackedMagic: return Kind::kBody;
    case kTrailerMagic: return Kind::kTrailer;
    default: return std::nullopt;
  }
}

std::uint64_t magic_of(Kind kind) {
  switch (kind) {
    case Kind::kHeader: return kHeaderMagic;
    case Kind::kBody: return kPackedMagic;
    case Kind::kTrailer: return kTrailerMagic;
  }
  return kPackedMagic;
}

constexpr std::string_view kPadding = "\xde\xad\xbe\xef";  // of a frame, as in the reference

// A run continues after at most this many consecutive frames with broken headers.
constexpr std::uint64_t kMostHeadless = 4;

constexpr std::size_t kKeptSlots = 16;

Position slot_of(Position at) { return at - at % kFrameSize; }

template <class Map>
void keep(Map& map, Position slot, const typename Map::mapped_type& list) {
  if (map.size() >= kKeptSlots) map.clear();
  map[slot] = list;
}

// Returns whether the frame of `header`, `distance` bytes after the start of `run`, belongs to that run.
bool is_part(const Run& run, const FrameHeader& header, std::uint64_t distance) {
  return distance == header.index * kFrameSize && header.index < run.frames &&
         header.continues(run.first, header.index);
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::kHeader: return "header";
    case Kind::kBody: return "body";
    case Kind::kTrailer: return "trailer";
  }
  return "body";
}

std::optional<FrameHeader> parse_frame_header(Bytes head) {
  Cursor cursor(head);
  const auto kind = kind_from(cursor.u64_le());
  FrameHeader header;
  header.checksum = cursor.u32_le();
  cursor.skip(4);  // flags, which no reader uses
  header.size = cursor.u32_le();
  header.total = cursor.u32_le();
  header.index = cursor.u32_le();
  if (!cursor.ok() || !kind || header.size > kLargestFragment || header.index >= header.total) return std::nullopt;
  header.kind = *kind;
  return header;
}

bool checksum_matches(const FrameHeader& header, Bytes frame) {
  const auto used = static_cast<std::size_t>(header.used());
  return crc32(frame.subspan(kCoveredBegin, used - kCoveredBegin)) == header.checksum;
}

void append_frames(std::string& out, Kind kind, Bytes content) {
  const auto total = static_cast<std::uint32_t>(
      std::max<std::uint64_t>((content.size() + kLargestFragment - 1) / kLargestFragment, 1));
  for (std::uint32_t index = 0; index < total; ++index) {
    const Bytes fragment = content.first(std::min<std::size_t>(content.size(), kLargestFragment));
    content = content.subspan(fragment.size());
    const std::size_t begin = out.size();
    append_le(out, magic_of(kind));
    std::string covered;
    append_le(covered, std::uint32_t{0});  // flags
    append_le(covered, static_cast<std::uint32_t>(fragment.size()));
    append_le(covered, total);
    append_le(covered, index);
    covered += as_text(fragment);
    append_le(out, crc32(as_bytes(covered)));
    out += covered;
    while (out.size() < begin + kFrameSize) out += kPadding.substr(0, begin + kFrameSize - out.size());
  }
}

bool is_cut_header(Bytes head) {
  return head.size() < kMagicSize ? is_cut_magic(head, kMagics) : magic_at(head, kMagics).has_value();
}

std::size_t find_magic(Bytes bytes, std::size_t from) { return find_magic(bytes, from, kMagics); }

Result<Bytes> Window::view(const RequestContext& context, Position at, std::uint64_t length) {
  ASSIGN_OR_RETURN(const auto bytes, reader_.from(context, at, length));
  return bytes.first(std::min(bytes.size(), static_cast<std::size_t>(length)));
}

Result<Position> Window::data_after_hole(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto bytes, view(context, slot, kFrameSize));
  return recordfs::data_after_hole(context, reader_.source(), slot + bytes.size(), bytes);
}

Result<std::optional<FrameHeader>> Window::header(const RequestContext& context, Position at) {
  if (at >= size()) return std::optional<FrameHeader>{};
  if (const auto held = reader_.held(at, kFrameHeaderSize)) return parse_frame_header(*held);
  std::array<std::byte, kFrameHeaderSize> bytes{};
  ASSIGN_OR_RETURN(const auto got, reader_.source().read_at(context, at, bytes));
  return parse_frame_header(Bytes(bytes).first(got));
}

Result<std::optional<FrameHeader>> Window::sound_header(const RequestContext& context, Position at) {
  ASSIGN_OR_RETURN(const auto frame, view(context, at, kFrameSize));
  auto header = parse_frame_header(frame);
  if (!header || frame.size() < header->used()) return std::optional<FrameHeader>{};
  checked_ += header->used();
  if (!checksum_matches(*header, frame)) return std::optional<FrameHeader>{};
  return header;
}

Run run_of(Position begin, const FrameHeader& first) {
  Run run;
  run.begin = begin;
  run.first = first;
  run.stored = first.size;
  run.last_size = first.size;
  return run;
}

void extend(Run& run, const FrameHeader& next) {
  for (; run.frames < next.index; ++run.frames) {
    run.headless.push_back(run.frames);
    run.stored += kLargestFragment;
  }
  ++run.frames;
  run.stored += next.size;
  run.last_size = next.size;
}

Result<AlignedFrames::Part> AlignedFrames::take_next(const RequestContext& context, Run& run, Position slot,
                                                     std::uint64_t index) {
  ASSIGN_OR_RETURN(const auto header, window_.header(context, slot));
  if (!header) return Part::kHeadless;
  if (header->continues(run.first, index)) {
    if (header->used() > window_.size() - slot) return Part::kOther;
    extend(run, *header);
    return Part::kNext;
  }
  ASSIGN_OR_RETURN(const auto sound, window_.sound_header(context, slot));
  return sound ? Part::kOther : Part::kHeadless;
}

Result<std::optional<Run>> AlignedFrames::run_at(const RequestContext& context, Position slot) {
  if (last_ && last_->begin == slot) return last_;
  ASSIGN_OR_RETURN(const auto first, window_.sound_header(context, slot));
  if (!first || first->index != 0) return std::optional<Run>{};
  Run run = run_of(slot, *first);
  std::uint64_t headless = 0;
  for (std::uint64_t i = 1; i < run.first.total && headless <= kMostHeadless; ++i) {
    const Position next = slot + i * kFrameSize;
    if (next >= window_.size()) break;
    ASSIGN_OR_RETURN(const auto part, take_next(context, run, next, i));
    if (part == Part::kOther) break;
    headless = part == Part::kNext ? 0 : headless + 1;
  }
  last_ = std::move(run);
  return last_;
}

Result<RunLengths::Length> AlignedFrames::length_at(const RequestContext& context, Position begin) {
  const std::pair key(window_.generation(), begin);
  if (auto known = lengths_.cache.find(key)) return *known;
  ASSIGN_OR_RETURN(const auto run, run_at(context, begin));
  return lengths_.cache.add(key, run ? RunLengths::Length{run->first, run->frames} : RunLengths::Length{});
}

Result<std::optional<Position>> AlignedFrames::begin_with(const RequestContext& context, Position slot,
                                                          const FrameHeader& header, std::uint64_t after) {
  const std::uint64_t before = header.index * kFrameSize;
  if (before > slot || header.index + after >= header.total) return std::optional<Position>{};
  ASSIGN_OR_RETURN(const auto length, length_at(context, slot - before));
  const bool is_part = header.index + after < length.frames && header.continues(length.first, header.index);
  return is_part ? std::optional(slot - before) : std::nullopt;
}

Result<std::optional<Position>> AlignedFrames::begin_over(const RequestContext& context, Position slot) {
  for (std::uint64_t back = 0; back <= kMostHeadless && back * kFrameSize <= slot; ++back) {
    const Position at = slot - back * kFrameSize;
    ASSIGN_OR_RETURN(const auto header, window_.header(context, at));
    if (!header) continue;
    auto begin = begin_with(context, at, *header, back);
    if (!begin || *begin) return begin;
    // A header with a wrong checksum may be a broken one inside a run.
    ASSIGN_OR_RETURN(const auto sound, window_.sound_header(context, at));
    if (sound) break;
  }
  return std::optional<Position>{};
}

Result<std::optional<Run>> AlignedFrames::run_over(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto begin, begin_over(context, slot));
  return begin ? run_at(context, *begin) : std::optional<Run>{};
}

Result<bool> AlignedFrames::is_in_run(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto begin, begin_over(context, slot));
  return begin.has_value();
}

Result<Position> MisalignedFrames::held_until(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto header, window_.header(context, slot));
  if (header) {
    ASSIGN_OR_RETURN(const auto sound, window_.sound_header(context, slot));
    if (sound) return slot + sound->used();
  }
  ASSIGN_OR_RETURN(const auto in_run, aligned_.is_in_run(context, slot));
  if (!in_run) return slot;
  return slot + (header ? header->used() : kFrameSize);
}

Result<bool> MisalignedFrames::is_aligned(const RequestContext& context, Position slot) {
  ASSIGN_OR_RETURN(const auto header, window_.header(context, slot));
  if (header) return true;
  return aligned_.is_in_run(context, slot);
}

Result<std::vector<MisalignedFrame>> MisalignedFrames::find_candidates(const RequestContext& context, Position slot) {
  std::vector<MisalignedFrame> found;
  ASSIGN_OR_RETURN(const auto barred, is_aligned(context, slot + kFrameSize));
  if (barred) return found;
  ASSIGN_OR_RETURN(const auto held, held_until(context, slot));
  ASSIGN_OR_RETURN(const auto bytes, window_.view(context, slot, kFrameSize + kFrameHeaderSize));
  std::vector<Position> magics;
  const auto first = std::max<std::size_t>(static_cast<std::size_t>(held - slot), 1);
  const std::size_t end = std::min<std::size_t>(bytes.size(), kFrameSize);
  for (std::size_t i = find_magic(bytes, first); i < end; i = find_magic(bytes, i + 1)) {
    if (window_.size() - slot - i >= kFrameSize) magics.push_back(slot + i);
  }
  for (const Position begin : magics) {
    ASSIGN_OR_RETURN(const auto header, window_.sound_header(context, begin));
    if (header) found.push_back({begin, *header});
  }
  return found;
}

Result<MisalignedFrames::List> MisalignedFrames::candidates(const RequestContext& context, Position slot) {
  if (const auto known = candidates_.find(slot); known != candidates_.end()) return known->second;
  ASSIGN_OR_RETURN(auto found, find_candidates(context, slot));
  List list = std::make_shared<const std::vector<MisalignedFrame>>(std::move(found));
  keep(candidates_, slot, list);
  return list;
}

Result<MisalignedFrames::List> MisalignedFrames::frames(const RequestContext& context, Position slot) {
  if (const auto known = frames_.find(slot); known != frames_.end()) return known->second;
  ASSIGN_OR_RETURN(const auto here, candidates(context, slot));
  auto found = std::make_shared<std::vector<MisalignedFrame>>();
  if (!here->empty()) {
    Position covered = 0;
    if (slot > 0) {
      ASSIGN_OR_RETURN(const auto before, candidates(context, slot - kFrameSize));
      for (const MisalignedFrame& stray : *before) covered = std::max(covered, stray.used_end());
    }
    for (const MisalignedFrame& stray : *here) {
      if (stray.begin >= covered) found->push_back(stray);
      covered = std::max(covered, stray.used_end());
    }
  }
  List list = std::move(found);
  keep(frames_, slot, list);
  return list;
}

Result<std::optional<MisalignedFrame>> MisalignedFrames::at(const RequestContext& context, Position at) {
  return first_in(context, at, at + 1);
}

Result<std::optional<MisalignedFrame>> MisalignedFrames::first_in(const RequestContext& context, Position from,
                                                                  Position to) {
  for (Position slot = slot_of(from); slot < std::min(to, window_.size()); slot += kFrameSize) {
    ASSIGN_OR_RETURN(const auto list, frames(context, slot));
    const auto first = std::ranges::lower_bound(*list, from, {}, &MisalignedFrame::begin);
    if (first != list->end()) return first->begin < to ? std::optional(*first) : std::nullopt;
  }
  return std::optional<MisalignedFrame>{};
}

Result<std::optional<MisalignedFrame>> MisalignedFrames::last_in(const RequestContext& context, Position from,
                                                                 Position to) {
  std::optional<MisalignedFrame> last;
  for (Position slot = slot_of(from); slot < std::min(to, window_.size()); slot += kFrameSize) {
    ASSIGN_OR_RETURN(const auto list, frames(context, slot));
    const auto after = std::ranges::lower_bound(*list, to, {}, &MisalignedFrame::begin);
    if (after != list->begin() && std::prev(after)->begin >= from) last = *std::prev(after);
  }
  return last;
}

Result<std::optional<Run>> ChunkFrames::at(const RequestContext& context, Position at) {
  return at % kFrameSize == 0 ? aligned_run(context, at) : misaligned_run(context, at);
}

Result<std::optional<Run>> ChunkFrames::aligned_run(const RequestContext& context, Position slot) {
  return with_end(context, aligned_.run_at(context, slot));
}

Result<std::optional<Run>> ChunkFrames::with_end(const RequestContext& context, Result<std::optional<Run>> found) {
  if (!found) return std::move(found).error();
  if (!*found) return std::optional<Run>{};
  Run run = std::move(**found);
  ASSIGN_OR_RETURN(const auto end, aligned_end(context, run));
  run.end = end;
  return std::optional(std::move(run));
}

Result<Position> ChunkFrames::aligned_end(const RequestContext& context, const Run& run) {
  const Position due = run.begin + run.frames * kFrameSize;
  if (due >= window_.size()) return window_.size();
  ASSIGN_OR_RETURN(const auto next, window_.header(context, due));
  if (next) return due;
  // If bytes of the padding were deleted, the next frame begins inside the place of the padding.
  ASSIGN_OR_RETURN(const auto stray, misaligned_.first_in(context, run.last_used_end(), due));
  return stray ? stray->begin : due;
}

Result<std::optional<Run>> ChunkFrames::misaligned_run(const RequestContext& context, Position at) {
  ASSIGN_OR_RETURN(const auto first, misaligned_.at(context, at));
  if (!first || first->header.index != 0) return std::optional<Run>{};
  Run run = run_of(at, first->header);
  for (;;) {
    const Position due = run.begin + run.frames * kFrameSize;
    ASSIGN_OR_RETURN(const auto intruder, misaligned_.first_in(context, run.last_used_end(), due));
    run.end = intruder ? intruder->begin : due;
    if (intruder || run.is_whole()) break;
    ASSIGN_OR_RETURN(const auto next, misaligned_.at(context, due));
    if (!next || !next->header.continues(run.first, run.frames)) break;
    extend(run, next->header);
  }
  return std::optional(run);
}

Result<std::optional<Run>> ChunkFrames::covering(const RequestContext& context, Position at) {
  const Position slot = at - at % kFrameSize;
  ASSIGN_OR_RETURN(auto over, with_end(context, aligned_.run_over(context, slot)));
  if (over && at < over->end) return over;
  ASSIGN_OR_RETURN(const auto stray, misaligned_.last_in(context, at - std::min(at, kFrameSize - 1), at + 1));
  if (!stray || stray->header.index * kFrameSize > stray->begin) return std::optional<Run>{};
  ASSIGN_OR_RETURN(auto found, misaligned_run(context, stray->begin - stray->header.index * kFrameSize));
  if (!found || !is_part(*found, stray->header, stray->begin - found->begin) || at >= found->end) {
    return std::optional<Run>{};
  }
  return found;
}

Result<std::optional<Run>> ChunkFrames::first_misaligned(const RequestContext& context, Position from, Position to) {
  while (from < to) {
    ASSIGN_OR_RETURN(const auto stray, misaligned_.first_in(context, from, to));
    if (!stray) break;
    if (stray->header.index == 0) return misaligned_run(context, stray->begin);
    from = stray->begin + 1;
  }
  return std::optional<Run>{};
}

Result<ChunkFrames::FoundRun> ChunkFrames::search(const RequestContext& context, Position from, std::uint64_t budget) {
  for (Position at = from; at < window_.size();) {
    const Position slot = at - at % kFrameSize;
    auto run = at == slot ? aligned_run(context, slot) : Result<std::optional<Run>>(std::nullopt);
    if (run && !*run) run = first_misaligned(context, at, slot + kFrameSize);
    if (!run) return std::move(run).error();
    if (*run) return FoundRun{*run, (*run)->begin};
    ASSIGN_OR_RETURN(const auto data, window_.data_after_hole(context, slot));
    at = std::min(std::max(slot + kFrameSize, data - data % kFrameSize), window_.size());
    if (at - from + window_.checked() >= budget) return FoundRun{std::nullopt, at};
  }
  return FoundRun{std::nullopt, window_.size()};
}

}  // namespace recordfs::recordio
